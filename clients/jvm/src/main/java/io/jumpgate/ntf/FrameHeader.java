package io.jumpgate.ntf;

import static io.jumpgate.ErrorCode.PROTOCOL;

import io.jumpgate.Defaults;
import io.jumpgate.JumpgateException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/** The first 32 bytes of a frame; jumpgate/ntf/README.md specifies each field. */
record FrameHeader(Kind kind, int rows, int length, long sequence, int crc) {
  enum Kind { HELLO, ACCEPT, DATA, END, ERROR }

  static final int BYTES = 32;
  static final int ROWS_MAX = Defaults.FRAME_ROWS_MAX;
  static final int DATA_BYTES_MAX = Defaults.FRAME_DATA_BYTES_MAX;
  static final int CONTROL_BYTES_MAX = Defaults.FRAME_CONTROL_BYTES_MAX;

  private static final int MAGIC = 'J' | 'G' << 8 | 'T' << 16 | 'F' << 24;
  private static final int VERSION = 1;
  private static final int CHECKED_BYTES = 28;
  private static final Kind[] KINDS = Kind.values();

  /**
   * Reads 32 bytes from the start of {@code raw}. Raises {@code protocol} unless magic, version, kind and every bound
   * hold.
   */
  static FrameHeader parse(ByteBuffer raw) {
    if (raw.getInt(0) != MAGIC) {
      throw new JumpgateException(PROTOCOL, "not a Jumpgate tuple stream: wrong magic number");
    }
    int version = raw.get(4) & 0xff;
    if (version != VERSION) {
      throw new JumpgateException(PROTOCOL,
          "the peer speaks version %d of the tuple stream, here is version %d: install one release at both ends"
              .formatted(version, VERSION));
    }
    if (raw.getShort(6) != 0 || raw.getInt(24) != 0) {
      throw new JumpgateException(PROTOCOL, "a frame header with unknown flags");
    }
    int number = raw.get(5) & 0xff;
    if (number < 1 || number > KINDS.length) {
      throw new JumpgateException(PROTOCOL, "a frame of unknown kind " + number);
    }
    Kind kind = KINDS[number - 1];
    int rows = raw.getInt(8);
    if (kind == Kind.DATA ? rows < 1 || rows > ROWS_MAX : rows != 0) {
      throw new JumpgateException(
          PROTOCOL, "a frame of %s rows; allowed are 1 to %d".formatted(Integer.toUnsignedString(rows), ROWS_MAX));
    }
    int length = raw.getInt(12);
    int most = kind == Kind.DATA ? DATA_BYTES_MAX : CONTROL_BYTES_MAX;
    if (length < 0 || length > most) {
      throw new JumpgateException(
          PROTOCOL, "a frame of %s bytes; at most %d are allowed".formatted(Integer.toUnsignedString(length), most));
    }
    return new FrameHeader(kind, rows, length, raw.getLong(16), raw.getInt(28));
  }

  /**
   * Raises {@code protocol} unless the payload, whose CRC {@code checksum} has taken, and the header are what was
   * sent.
   */
  void check(CRC32C checksum, ByteBuffer raw) {
    checksum.update(raw.slice(0, CHECKED_BYTES));
    if ((int) checksum.getValue() != crc) {
      throw new JumpgateException(PROTOCOL, "a frame whose bytes do not match its checksum (CRC-32C)");
    }
  }

  /** A whole frame, ready to be written. */
  static ByteBuffer frame(Kind kind, int rows, long sequence, ByteBuffer payload) {
    ByteBuffer out = ByteBuffer.allocate(BYTES + payload.remaining()).order(ByteOrder.LITTLE_ENDIAN);
    out.putInt(MAGIC).put((byte) VERSION).put((byte) (kind.ordinal() + 1)).putShort((short) 0);
    out.putInt(rows).putInt(payload.remaining()).putLong(sequence).putInt(0);
    CRC32C checksum = new CRC32C();
    checksum.update(payload.duplicate());
    checksum.update(out.slice(0, CHECKED_BYTES));
    return out.putInt((int) checksum.getValue()).put(payload.duplicate()).flip();
  }
}
