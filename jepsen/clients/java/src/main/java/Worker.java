import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** One consumer and its application, which processes a fake feed of each partition that it owns. */
class Worker extends Thread implements ConsumerRebalanceListener {
    private static final Duration POLL = Duration.ofMillis(20);
    private static final Duration CALL = Duration.ofSeconds(10);
    private static final long UNKNOWN = -1;

    private final Driver driver;
    private final Map<String, String> args;
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final Random chance;
    private final Map<TopicPartition, Long> at = new HashMap<>();
    private long ops;
    private volatile boolean isClosing;

    Worker(Driver driver, String name, Map<String, String> args) {
        super(name);
        this.driver = driver;
        this.args = args;
        chance = new Random(Long.parseLong(args.get("seed")) + name.hashCode());
        Properties config = new Properties();
        config.put("bootstrap.servers", args.get("bootstrap"));
        config.put("group.id", args.get("group"));
        config.put("client.id", name);
        config.put("session.timeout.ms", args.get("session_ms"));
        config.put("max.poll.interval.ms", args.get("rebalance_ms"));
        config.put("heartbeat.interval.ms", args.get("heartbeat_ms"));
        config.put("enable.auto.commit", "false");
        if ("range".equals(args.get("assignor"))) {
            config.put("partition.assignment.strategy", RangeAssignor.class.getName());
        }
        config.put("key.deserializer", ByteArrayDeserializer.class.getName());
        config.put("value.deserializer", ByteArrayDeserializer.class.getName());
        consumer = new KafkaConsumer<>(config);
        consumer.subscribe(List.of(args.get("topics").split(",")), this);
    }

    void end() {
        isClosing = true;
    }

    @Override
    public void run() {
        driver.tell(getName(), "ready", "\"library\":" + Json.quote("kafka-clients " + Json.version()));
        long pace = Long.parseLong(args.get("pace_ms")) * 1_000_000;
        long next = System.nanoTime() + pace;
        while (!isClosing) {
            try {
                consumer.poll(POLL);
                if (System.nanoTime() >= next) {
                    next = System.nanoTime() + pace;
                    work();
                }
            } catch (RuntimeException error) {
                driver.tell(getName(), "error", "\"text\":" + Json.quote(error.toString()));
            }
        }
        try {
            consumer.close();
        } catch (RuntimeException error) {
            driver.tell(getName(), "error", "\"text\":" + Json.quote(error.toString()));
        }
        driver.tell(getName(), "closed", "");
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> assigned) {
        driver.ask(getName(), "assigned", holding(assigned));
        assigned.forEach(place -> at.put(place, UNKNOWN));
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> revoked) {
        try {
            commit(known(revoked));
        } finally {
            revoked.forEach(at::remove);
            driver.ask(getName(), "revoked", holding(revoked));
        }
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> lost) {
        lost.forEach(at::remove);
        driver.ask(getName(), "lost", holding(lost));
    }

    private List<TopicPartition> known(Collection<TopicPartition> places) {
        return places.stream().filter(place -> at.getOrDefault(place, UNKNOWN) != UNKNOWN)
            .sorted(Json.ORDER).collect(Collectors.toList());
    }

    private void work() {
        List<TopicPartition> lost = at.keySet().stream().filter(place -> at.get(place) == UNKNOWN).toList();
        if (!lost.isEmpty()) {
            find(lost);
        }
        List<TopicPartition> places = known(at.keySet());
        if (places.isEmpty()) {
            return;
        }
        places.forEach(place -> at.merge(place, 1L + chance.nextInt(5), Long::sum));
        driver.ask(getName(), "processed", "\"rows\":" + Json.list(places.stream()
            .map(place -> Json.row(place, at.get(place))).toList()));
        commit(places);
    }

    private void find(List<TopicPartition> places) {
        long op = begin("fetch", "\"parts\":" + Json.list(places.stream().map(Json::pair).toList()));
        try {
            List<String> rows = new ArrayList<>();
            consumer.committed(new java.util.HashSet<>(places), CALL).forEach((place, found) -> {
                at.put(place, found == null ? 0 : Math.max(found.offset(), 0));
                rows.add(found == null ? Json.row(place, -1, -1, "\"\"", 0)
                    : Json.row(place, found.offset(), found.leaderEpoch().orElse(-1), Json.quote(found.metadata()), 0));
            });
            end(op, rows);
        } catch (RuntimeException error) {
            end(op, error);
        }
    }

    private void commit(List<TopicPartition> places) {
        if (places.isEmpty()) {
            return;
        }
        Map<TopicPartition, OffsetAndMetadata> offsets = new TreeMap<>(Json.ORDER);
        List<String> rows = new ArrayList<>();
        for (TopicPartition place : places) {
            String text = getName() + "/" + ++ops + ";";
            offsets.put(place, new OffsetAndMetadata(at.get(place), text));
            rows.add(Json.row(place, at.get(place), -1, Json.quote(text)));
        }
        long op = begin("commit", "\"parts\":" + Json.list(rows) + "," + identity());
        try {
            consumer.commitSync(offsets, CALL);
            end(op, places.stream().map(place -> Json.row(place, 0)).toList());
        } catch (RuntimeException error) {
            end(op, error);
        }
    }

    private long begin(String f, String fields) {
        ops++;
        driver.ask(getName(), "invoke", "\"op\":" + ops + ",\"f\":" + Json.quote(f) + "," + fields);
        return ops;
    }

    private void end(long op, List<String> rows) {
        driver.tell(getName(), "done", "\"op\":" + op + ",\"error\":null,\"parts\":" + Json.list(rows));
    }

    private void end(long op, RuntimeException error) {
        String code = "\"exception\"";
        if (error instanceof TimeoutException) {
            code = "\"timeout\"";
        } else if (error instanceof ApiException && Errors.forException(error).code() > 0) {
            code = String.valueOf(Errors.forException(error).code());
        }
        driver.tell(getName(), "done", "\"op\":" + op + ",\"error\":" + code + ",\"parts\":null,\"text\":"
            + Json.quote(error.toString()));
    }

    private String holding(Collection<TopicPartition> places) {
        return "\"parts\":" + Json.byTopic(places) + "," + identity();
    }

    private String identity() {
        ConsumerGroupMetadata group = consumer.groupMetadata();
        return "\"member\":" + Json.quote(group.memberId()) + ",\"gen\":" + group.generationId();
    }
}
