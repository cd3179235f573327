import java.nio.ByteBuffer;
import org.jgroups.AnycastAddress;
import org.jgroups.Message;
import org.jgroups.View;

/** Messages to all, as JGroups 4 has them: TOA puts only what is addressed to a set of members in one order. */
final class Multicast {
    private Multicast() {
    }

    static Message of(byte[] bytes, View all) {
        return new Message(new AnycastAddress(all.getMembers()), bytes);
    }

    static ByteBuffer bytesOf(Message message) {
        return ByteBuffer.wrap(message.getRawBuffer(), message.getOffset(), message.getLength());
    }
}
