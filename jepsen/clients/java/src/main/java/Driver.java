import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;

/**
 * Several members of groups by Java's kafka-clients in one JVM, and their talk with the driver. The
 * argument clients lists them, each as name:group:assignor.
 */
public class Driver {
    private final Map<Integer, CountDownLatch> acks = new ConcurrentHashMap<>();
    private final Map<String, Worker> workers = new ConcurrentHashMap<>();
    private final Map<String, String> args = new HashMap<>();
    private int numbers; // guarded by this

    public static void main(String[] words) throws IOException {
        new Driver().run(words);
    }

    private void run(String[] words) throws IOException {
        for (String word : words) {
            String[] pair = word.split("=", 2);
            args.put(pair[0], pair[1]);
        }
        for (String consumer : args.get("clients").split(",")) {
            String[] parts = consumer.split(":", 3);
            args.put("group", parts[1]);
            args.put("assignor", parts[2]);
            open(parts[0]);
        }
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            obey(line.split(" "));
        }
        Runtime.getRuntime().halt(0);
    }

    private void obey(String[] words) {
        switch (words[0]) {
            case "ack" -> {
                CountDownLatch heard = acks.remove(Integer.parseInt(words[1]));
                if (heard != null) {
                    heard.countDown();
                }
            }
            case "close" -> workers.remove(words[1]).end();
            default -> throw new IllegalArgumentException(words[0]);
        }
    }

    private void open(String name) {
        Worker worker = new Worker(this, name, Map.copyOf(args));
        workers.put(name, worker);
        worker.start();
    }

    /** Reports an event and goes on. */
    synchronized void tell(String who, String event, String fields) {
        System.out.println("{\"event\":\"" + event + "\",\"who\":" + Json.quote(who)
            + (fields.isEmpty() ? "" : ",") + fields + "}");
        System.out.flush();
    }

    /** Reports an event and waits until it stands in the history. */
    void ask(String who, String event, String fields) {
        CountDownLatch heard = new CountDownLatch(1);
        synchronized (this) {
            int number = ++numbers;
            acks.put(number, heard);
            tell(who, event, "\"ack\":" + number + "," + fields);
        }
        try {
            heard.await();
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }
}
