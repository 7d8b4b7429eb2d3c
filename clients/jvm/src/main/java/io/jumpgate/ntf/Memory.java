package io.jumpgate.ntf;

import java.lang.reflect.Field;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import sun.misc.Unsafe;

/** Memory off the heap by its address, which nothing checks; numbers of either byte order. */
final class Memory {
  private static final Unsafe UNSAFE;
  private static final long ADDRESS;
  private static final boolean SWAPS_LITTLE = ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN;

  static {
    try {
      Field field = Unsafe.class.getDeclaredField("theUnsafe");
      field.setAccessible(true);
      UNSAFE = (Unsafe) field.get(null);
      ADDRESS = UNSAFE.objectFieldOffset(Buffer.class.getDeclaredField("address"));
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private Memory() {}

  /** Of a direct buffer's first byte. */
  static long address(ByteBuffer direct) {
    return UNSAFE.getLong(direct, ADDRESS);
  }

  /** Gives back what a direct buffer, and every view of it, is over. */
  static void free(ByteBuffer direct) {
    UNSAFE.invokeCleaner(direct);
  }

  static byte getByte(long address) {
    return UNSAFE.getByte(address);
  }

  static short getShortLittle(long address) {
    short value = UNSAFE.getShort(address);
    return SWAPS_LITTLE ? Short.reverseBytes(value) : value;
  }

  static short getShortBig(long address) {
    return Short.reverseBytes(getShortLittle(address));
  }

  static int getIntLittle(long address) {
    int value = UNSAFE.getInt(address);
    return SWAPS_LITTLE ? Integer.reverseBytes(value) : value;
  }

  static int getIntBig(long address) {
    return Integer.reverseBytes(getIntLittle(address));
  }

  static long getLongLittle(long address) {
    long value = UNSAFE.getLong(address);
    return SWAPS_LITTLE ? Long.reverseBytes(value) : value;
  }

  static long getLongBig(long address) {
    return Long.reverseBytes(getLongLittle(address));
  }
}
