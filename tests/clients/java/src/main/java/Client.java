import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A member of a group by Java's kafka-clients, with the classic group protocol. */
public class Client implements ConsumerRebalanceListener {
    private static final Duration POLL = Duration.ofMillis(100);

    private final Map<String, String> args = new HashMap<>();
    private final Queue<String> lines = new ConcurrentLinkedQueue<>();
    private final KafkaConsumer<byte[], byte[]> consumer;
    private long polls;
    private long records;

    public static void main(String[] words) {
        new Client(words).run();
    }

    private Client(String[] words) {
        for (String word : words) {
            String[] pair = word.split("=", 2);
            args.put(pair[0], pair[1]);
        }
        Properties config = new Properties();
        config.put("bootstrap.servers", args.get("bootstrap"));
        config.put("group.id", args.get("group"));
        config.put("client.id", args.get("client"));
        config.put("session.timeout.ms", args.get("session_ms"));
        config.put("heartbeat.interval.ms", args.get("heartbeat_ms"));
        config.put("enable.auto.commit", "false");
        config.put("key.deserializer", ByteArrayDeserializer.class.getName());
        config.put("value.deserializer", ByteArrayDeserializer.class.getName());
        if (args.containsKey("instance")) {
            config.put("group.instance.id", args.get("instance"));
        }
        if (args.containsKey("metadata_ms")) {
            config.put("metadata.max.age.ms", args.get("metadata_ms"));
        }
        consumer = new KafkaConsumer<>(config);
        if (args.containsKey("pattern")) {
            consumer.subscribe(Pattern.compile(args.get("pattern")), this);
        } else {
            consumer.subscribe(List.of(args.get("topics").split(",")), this);
        }
        emit("ready", "\"library\":" + quote("kafka-clients " + version()));
        Thread reader = new Thread(this::read);
        reader.setDaemon(true);
        reader.start();
    }

    private static String version() {
        Properties about = new Properties();
        try (InputStream file = KafkaConsumer.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            about.load(file);
        } catch (IOException error) {
            return "of unknown version";
        }
        return about.getProperty("version");
    }

    private void read() {
        try (BufferedReader input = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                lines.add(line);
            }
        } catch (IOException error) {
            emit("error", failure(error));
        }
        Runtime.getRuntime().halt(0);
    }

    private void run() {
        while (true) {
            try {
                records += consumer.poll(POLL).count();
            } catch (RuntimeException error) {
                emit("error", failure(error));
            }
            polls++;
            for (String line = lines.poll(); line != null; line = lines.poll()) {
                if (line.equals("leave")) {
                    consumer.close();
                    emit("left", "");
                    System.exit(0);
                }
                obey(List.of(line.split(" ")));
            }
        }
    }

    private void obey(List<String> words) {
        List<String> rest = words.subList(2, words.size());
        StringBuilder fields = new StringBuilder("\"id\":" + words.get(1));
        String event = switch (words.get(0)) {
            case "commit" -> "committed";
            case "fetch" -> "fetched";
            default -> "status";
        };
        try {
            switch (event) {
                case "committed" -> {
                    Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                    rest.forEach(word -> offsets.put(place(word.split("=")[0]),
                        new OffsetAndMetadata(Long.parseLong(word.split("=")[1]))));
                    fields.append(",\"offsets\":").append(offsets(offsets));
                    consumer.commitSync(offsets);
                    fields.append(identity());
                }
                case "fetched" -> {
                    Map<TopicPartition, OffsetAndMetadata> found = consumer.committed(
                        rest.stream().map(Client::place).collect(Collectors.toSet()));
                    fields.append(",\"offsets\":").append(offsets(found));
                }
                default -> fields.append(",\"polls\":" + polls + ",\"records\":" + records
                    + ",\"owned\":" + names(consumer.assignment()) + identity());
            }
        } catch (RuntimeException error) {
            fields.append(",\"error\":{").append(failure(error)).append('}');
        }
        emit(event, fields.toString());
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> assigned) {
        emit("assigned", "\"partitions\":" + names(assigned) + identity());
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> revoked) {
        emit("revoked", "\"partitions\":" + names(revoked));
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> lost) {
        emit("lost", "\"partitions\":" + names(lost));
    }

    // What follows turns things into JSON.

    private String identity() {
        ConsumerGroupMetadata group = consumer.groupMetadata();
        return ",\"member_id\":" + quote(group.memberId()) + ",\"generation\":" + group.generationId();
    }

    private static String failure(Exception error) {
        boolean isKafkas = error instanceof ApiException;
        return "\"code\":" + (isKafkas ? String.valueOf(Errors.forException(error).code()) : "null")
            + ",\"text\":" + quote(error.toString());
    }

    private static TopicPartition place(String word) {
        int colon = word.lastIndexOf(':');
        return new TopicPartition(word.substring(0, colon), Integer.parseInt(word.substring(colon + 1)));
    }

    private static String name(TopicPartition partition) {
        return partition.topic() + ":" + partition.partition();
    }

    private static String names(Collection<TopicPartition> partitions) {
        return list(partitions.stream().map(Client::name).sorted().toList());
    }

    private static String list(List<String> texts) {
        return texts.stream().map(Client::quote).collect(Collectors.joining(",", "[", "]"));
    }

    private static String offsets(Map<TopicPartition, OffsetAndMetadata> offsets) {
        return offsets.entrySet().stream()
            .map(e -> quote(name(e.getKey())) + ":" + (e.getValue() == null ? -1 : e.getValue().offset()))
            .collect(Collectors.joining(",", "{", "}"));
    }

    private static String quote(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        return out.append('"').toString();
    }

    private static synchronized void emit(String event, String fields) {
        System.out.println("{\"event\":\"" + event + "\"" + (fields.isEmpty() ? "" : ",") + fields + "}");
        System.out.flush();
    }
}
