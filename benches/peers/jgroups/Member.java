import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jgroups.JChannel;
import org.jgroups.Message;
import org.jgroups.Receiver;
import org.jgroups.View;

/**
 * A member of a JGroups cluster that multicasts to all of it in one order.
 *
 * <p>Arguments: the stack's file, the cluster's name, which member, of how many. It writes how many it sees, a byte, whenever that changes,
 * until all have joined. Then, for each number that it reads, it multicasts so many messages, delivers those of all members, and writes when
 * it began and ended, a hash of the order, and how long each of its own took to come back. It ends with its input. Numbers are big-endian.
 */
public final class Member implements Receiver {
    private static final int MESSAGE_BYTES = 64;
    private static final int WINDOW = 16;
    private static final long PRIME = 0x100000001b3L;

    private final int member;
    private final int members;
    /** When those under way were multicast. */
    private final AtomicLongArray sentNs = new AtomicLongArray(WINDOW);
    private final Semaphore room = new Semaphore(WINDOW);

    /** Guards what follows. Counts are of the whole run: others may begin a round earlier than this member. */
    private final Object lock = new Object();
    private View seen;
    private long delivered;
    private long awaited;
    private long order = 0xcbf29ce484222325L;
    private int ownDelivered;
    private int ownBefore;
    private long[] latenciesNs = new long[0];

    private Member(int member, int members) {
        this.member = member;
        this.members = members;
    }

    @Override
    public void viewAccepted(View view) {
        synchronized (lock) {
            seen = view;
            lock.notifyAll();
        }
    }

    @Override
    public void receive(Message message) {
        ByteBuffer bytes = Multicast.bytesOf(message);
        int sender = bytes.getInt();
        int number = bytes.getInt();
        synchronized (lock) {
            order = ((order ^ sender) * PRIME ^ number) * PRIME;
            delivered++;
            if (sender == member) {
                deliverOwn(number);
            }
            if (delivered == awaited) {
                lock.notifyAll();
            }
        }
    }

    private void deliverOwn(int number) {
        if (number != ownDelivered) {
            System.err.println("a member's multicast " + number + " was delivered as its " + ownDelivered + "th");
            Runtime.getRuntime().halt(70);
        }
        latenciesNs[number - ownBefore] = System.nanoTime() - sentNs.get(number % WINDOW);
        ownDelivered++;
        room.release();
    }

    /** Tells how many there are, until it is all of them; returns the view that they are in. */
    private View awaitMembers(DataOutputStream answers) throws InterruptedException, IOException {
        View told = null;
        while (told == null || told.size() < members) {
            synchronized (lock) {
                while (seen == told) {
                    lock.wait();
                }
                told = seen;
            }
            answers.write(told.size());
            answers.flush();
        }
        return told;
    }

    private void takePart(JChannel channel, View all, int count, DataOutputStream answers) throws Exception {
        synchronized (lock) {
            awaited += (long) count * members;
            ownBefore = ownDelivered;
            latenciesNs = new long[count];
        }
        long startedNs = System.nanoTime();
        for (int number = ownBefore; number < ownBefore + count; number++) {
            room.acquire();
            ByteBuffer bytes = ByteBuffer.allocate(MESSAGE_BYTES).putInt(member).putInt(number);
            sentNs.set(number % WINDOW, System.nanoTime());
            channel.send(Multicast.of(bytes.array(), all));
        }
        synchronized (lock) {
            while (delivered < awaited) {
                lock.wait();
            }
            answer(answers, startedNs, System.nanoTime());
        }
    }

    private void answer(DataOutputStream answers, long startedNs, long endedNs) throws IOException {
        answers.writeLong(startedNs);
        answers.writeLong(endedNs);
        answers.writeLong(order);
        ByteBuffer latencies = ByteBuffer.allocate(latenciesNs.length * Long.BYTES);
        latencies.asLongBuffer().put(latenciesNs);
        answers.write(latencies.array());
        answers.flush();
    }

    public static void main(String[] arguments) throws Exception {
        DataOutputStream answers = new DataOutputStream(System.out);
        // What JGroups prints would be taken for an answer.
        System.setOut(new PrintStream(OutputStream.nullOutputStream()));
        Logger.getLogger("").setLevel(Level.SEVERE);
        Member member = new Member(Integer.parseInt(arguments[2]), Integer.parseInt(arguments[3]));
        JChannel channel = new JChannel(arguments[0]);
        channel.setReceiver(member);
        channel.connect(arguments[1]);
        View all = member.awaitMembers(answers);
        DataInputStream counts = new DataInputStream(System.in);
        try {
            while (true) {
                member.takePart(channel, all, counts.readInt(), answers);
            }
        } catch (EOFException ended) {
            // The others are told by nobody; they end as well.
            Runtime.getRuntime().halt(0);
        }
    }
}
