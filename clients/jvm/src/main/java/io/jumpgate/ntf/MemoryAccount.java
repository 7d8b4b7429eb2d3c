package io.jumpgate.ntf;

import io.jumpgate.JumpgateException;

/** Where an engine accounts the memory of received frames. Called from the thread that reads, release from any. */
public interface MemoryAccount {
  /** Before memory is taken. Raises JumpgateException (code {@code memory}) where there is none. */
  void acquire(long bytes) throws JumpgateException;

  /** After it was given back. */
  void release(long bytes);

  /** No limit but the JVM's own. */
  MemoryAccount UNLIMITED = new MemoryAccount() {
    @Override
    public void acquire(long bytes) {}

    @Override
    public void release(long bytes) {}
  };
}
