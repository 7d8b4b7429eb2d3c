package io.jumpgate.ntf;

import io.jumpgate.ErrorCode;
import io.jumpgate.JumpgateException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.Iterator;

/**
 * Memory for frames: what one no longer needs is the next one's. Everything that is allocated, idle or not, is
 * accounted; little is idle. Closing frees what is idle, and from then on whatever is released.
 */
final class BufferPool {
  private static final int ALIGNMENT = 64;
  private static final int IDLE_MAX = 4;
  private static final int STEP_MIN = 4 << 10;

  private final MemoryAccount account;
  private final ArrayDeque<ByteBuffer> idle = new ArrayDeque<>();
  private boolean closed;

  BufferPool(MemoryAccount account) {
    this.account = account;
  }

  /** A buffer of that length with one reference. Raises {@code memory} where the account, or the JVM, has none. */
  PooledBuffer take(int length) {
    ByteBuffer memory = reuse(length);
    return new PooledBuffer(this, memory == null ? allocate(length) : memory, length);
  }

  void close() {
    synchronized (this) {
      closed = true;
    }
    for (ByteBuffer each = reuse(0, Integer.MAX_VALUE); each != null; each = reuse(0, Integer.MAX_VALUE)) {
      free(each);
    }
  }

  private ByteBuffer reuse(int length) {
    return reuse(length, capacity(length + length / 4));
  }

  /** An idle one whose capacity is not far beyond what is needed; null if there is none. */
  private synchronized ByteBuffer reuse(int least, int most) {
    for (Iterator<ByteBuffer> each = idle.iterator(); each.hasNext();) {
      ByteBuffer memory = each.next();
      int size = memory.capacity() - ALIGNMENT;
      if (size >= least && size <= most) {
        each.remove();
        return memory;
      }
    }
    return null;
  }

  private ByteBuffer allocate(int length) {
    int size = capacity(length) + ALIGNMENT;
    account.acquire(size);
    try {
      return ByteBuffer.allocateDirect(size);
    } catch (OutOfMemoryError e) {
      account.release(size);
      throw new JumpgateException(ErrorCode.MEMORY, "no memory off the heap for a frame of %d bytes".formatted(length));
    }
  }

  private void recycle(ByteBuffer memory) {
    ByteBuffer surplus = memory;
    synchronized (this) {
      if (!closed) {
        idle.addFirst(memory);
        surplus = idle.size() > IDLE_MAX ? idle.removeLast() : null;
      }
    }
    if (surplus != null) {
      free(surplus);
    }
  }

  private void free(ByteBuffer memory) {
    int size = memory.capacity();
    Memory.free(memory);
    account.release(size);
  }

  /** The length rounded up to an eighth of its magnitude, so that frames of about one size fit each other's memory. */
  private static int capacity(int length) {
    int step = Math.max(STEP_MIN, Integer.highestOneBit(length) >> 3);
    return (int) Math.min((length + (long) step - 1) / step * step, FrameHeader.DATA_BYTES_MAX);
  }

  /** A frame's memory, from the pool and back. */
  static final class PooledBuffer implements FrameBuffer {
    private static final VarHandle REFERENCES;

    static {
      try {
        REFERENCES = MethodHandles.lookup().findVarHandle(PooledBuffer.class, "references", int.class);
      } catch (ReflectiveOperationException e) {
        throw new ExceptionInInitializerError(e);
      }
    }

    private final BufferPool pool;
    private final ByteBuffer memory;
    private final ByteBuffer aligned;
    private final long address;
    private volatile int references = 1;

    PooledBuffer(BufferPool pool, ByteBuffer memory, int length) {
      this.pool = pool;
      this.memory = memory;
      int start = memory.alignmentOffset(0, ALIGNMENT);
      this.aligned = memory.slice(start == 0 ? 0 : ALIGNMENT - start, length).order(ByteOrder.LITTLE_ENDIAN);
      this.address = Memory.address(aligned);
    }

    /** For whoever fills it. */
    ByteBuffer writable() {
      return aligned.duplicate().order(ByteOrder.LITTLE_ENDIAN);
    }

    @Override
    public long address() {
      return address;
    }

    @Override
    public int length() {
      return aligned.capacity();
    }

    @Override
    public ByteBuffer bytes() {
      return aligned.asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN);
    }

    @Override
    public void retain() {
      if ((int) REFERENCES.getAndAdd(this, 1) <= 0) {
        REFERENCES.getAndAdd(this, -1);
        throw new IllegalStateException("a frame's memory was given back already");
      }
    }

    @Override
    public void release() {
      int before = (int) REFERENCES.getAndAdd(this, -1);
      if (before == 1) {
        pool.recycle(memory);
      } else if (before <= 0) {
        throw new IllegalStateException("a frame's memory was given back already");
      }
    }
  }
}
