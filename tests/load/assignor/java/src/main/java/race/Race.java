package race;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.common.runtime.KRaftCoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.PartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;
import org.apache.kafka.coordinator.group.modern.SubscribedTopicDescriberImpl;
import org.apache.kafka.coordinator.group.modern.TopicIds;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * One point of the grid (assignor_bench.c) for Kafka's own assignors, built from the classes that
 * its coordinator uses: subscriptions by name over cached topic ids, targets as it holds them.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class Race {
    private static final int BUCKETS = 5;

    @Param("uniform")
    String assignor;
    @Param("homogeneous")
    String subscriptions;
    @Param("full")
    String kind;
    @Param("100")
    int members;
    @Param("5")
    int ratio;
    @Param("10")
    int topics;

    private final List<String> names = new ArrayList<>();
    private PartitionAssignor impl;
    private GroupSpec spec;
    private SubscribedTopicDescriber describer;
    private TopicIds.TopicResolver resolver;

    /** The benchmark thread's processor time and calls, for the time that the machine gave to others. */
    @State(Scope.Thread)
    @AuxCounters(AuxCounters.Type.EVENTS)
    public static class Cpu {
        private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
        public long cpuNs;
        public long calls;
        private long begin;

        @Setup(Level.Iteration)
        public void begin() {
            calls = 0;
            cpuNs = 0;
            begin = THREADS.getCurrentThreadCpuTime();
        }

        @TearDown(Level.Iteration)
        public void end() {
            cpuNs = THREADS.getCurrentThreadCpuTime() - begin;
        }
    }

    @Setup(Level.Trial)
    public void setup() {
        impl = assignor.equals("range") ? new RangeAssignor() : new UniformAssignor();
        CoordinatorMetadataImage image = image();
        describer = new SubscribedTopicDescriberImpl(image);
        resolver = new TopicIds.CachedTopicResolver(image);
        boolean isFull = kind.equals("full");
        int old = isFull ? members : members - 1;
        List<Set<Uuid>> subscribed = subscribed(old);
        Map<String, MemberSubscriptionAndAssignmentImpl> specs = new HashMap<>();
        for (int i = 0; i < old; i++) {
            specs.put("member" + i, member(subscribed.get(i), Assignment.EMPTY));
        }
        spec = new GroupSpecImpl(specs, type(), Map.of());
        if (!isFull) {
            addOne(specs, subscribed.get(old - 1));
        }
    }

    private SubscriptionType type() {
        return subscriptions.equals("homogeneous")
            ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
    }

    private CoordinatorMetadataImage image() {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        int partitions = members * ratio / topics;
        for (int t = 0; t < topics; t++) {
            Uuid id = Uuid.randomUuid();
            names.add("topic" + t);
            delta.replay(new TopicRecord().setTopicId(id).setName("topic" + t));
            for (int p = 0; p < partitions; p++) {
                delta.replay(new PartitionRecord().setTopicId(id).setPartitionId(p)
                    .setReplicas(List.of(p % 4, (p + 1) % 4)));
            }
        }
        return new KRaftCoordinatorMetadataImage(delta.apply(MetadataProvenance.EMPTY));
    }

    /** By member. Members with equal subscriptions share one set. */
    private List<Set<Uuid>> subscribed(int count) {
        int buckets = type() == SubscriptionType.HOMOGENEOUS ? 1 : BUCKETS;
        int topicsEach = (topics + buckets - 1) / buckets;
        int membersEach = (count + buckets - 1) / buckets;
        List<Set<Uuid>> sets = new ArrayList<>();
        for (int b = 0; b < buckets; b++) {
            List<String> part = names.subList(Math.min(b * topicsEach, topics),
                Math.min((b + 1) * topicsEach, topics));
            sets.add(new TopicIds(new HashSet<>(part), resolver));
        }
        List<Set<Uuid>> byMember = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            byMember.add(sets.get(i / membersEach));
        }
        return byMember;
    }

    private MemberSubscriptionAndAssignmentImpl member(Set<Uuid> subscribed, Assignment current) {
        return new MemberSubscriptionAndAssignmentImpl(Optional.empty(), Optional.empty(),
            subscribed, current);
    }

    private void addOne(Map<String, MemberSubscriptionAndAssignmentImpl> specs, Set<Uuid> subscribed) {
        GroupAssignment before = impl.assign(spec, describer);
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        Map<String, MemberSubscriptionAndAssignmentImpl> after = new HashMap<>();
        specs.forEach((id, member) -> {
            Map<Uuid, Set<Integer>> partitions = before.members().get(id).partitions();
            partitions.forEach((topic, set) -> set.forEach(
                p -> owners.computeIfAbsent(topic, t -> new HashMap<>()).put(p, id)));
            after.put(id, member(member.subscribedTopicIds(), new Assignment(partitions)));
        });
        after.put("newMember", member(subscribed, Assignment.EMPTY));
        spec = new GroupSpecImpl(after, type(), owners);
    }

    @Benchmark
    public GroupAssignment assign(Cpu cpu) {
        cpu.calls++;
        return impl.assign(spec, describer);
    }
}
