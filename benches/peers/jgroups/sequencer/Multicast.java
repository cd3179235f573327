import java.nio.ByteBuffer;
import org.jgroups.BytesMessage;
import org.jgroups.Message;
import org.jgroups.View;

/** Messages to all, as JGroups 5 has them: SEQUENCER puts what is addressed to nobody in particular in one order. */
final class Multicast {
    private Multicast() {
    }

    static Message of(byte[] bytes, View all) {
        return new BytesMessage(null, bytes);
    }

    static ByteBuffer bytesOf(Message message) {
        return ByteBuffer.wrap(message.getArray(), message.getOffset(), message.getLength());
    }
}
