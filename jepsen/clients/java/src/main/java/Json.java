import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

/** Turns things into JSON, as the history has them. */
final class Json {
    static final Comparator<TopicPartition> ORDER =
        Comparator.comparing(TopicPartition::topic).thenComparing(TopicPartition::partition);

    private Json() {
    }

    /** A partition and more fields: numbers, or JSON already. */
    static String row(TopicPartition place, Object... more) {
        return "[" + quote(place.topic()) + "," + place.partition()
            + Arrays.stream(more).map(field -> "," + field).collect(Collectors.joining()) + "]";
    }

    static String pair(TopicPartition place) {
        return row(place);
    }

    static String list(List<String> items) {
        return "[" + String.join(",", items) + "]";
    }

    static String byTopic(Collection<TopicPartition> places) {
        Map<String, List<Integer>> found = places.stream().sorted(ORDER).collect(Collectors.groupingBy(
            TopicPartition::topic, TreeMap::new, Collectors.mapping(TopicPartition::partition, Collectors.toList())));
        return list(found.entrySet().stream().map(e -> "[" + quote(e.getKey()) + "," + e.getValue() + "]").toList());
    }

    static String version() {
        Properties about = new Properties();
        try (InputStream file = KafkaConsumer.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            about.load(file);
        } catch (IOException error) {
            return "of unknown version";
        }
        return about.getProperty("version");
    }

    static String quote(String text) {
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
}
