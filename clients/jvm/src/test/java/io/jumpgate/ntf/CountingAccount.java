package io.jumpgate.ntf;

import io.jumpgate.ErrorCode;
import io.jumpgate.JumpgateException;
import java.util.concurrent.atomic.AtomicLong;

/** Counts what is held, and refuses what is beyond a limit. */
final class CountingAccount implements MemoryAccount {
  private final AtomicLong held = new AtomicLong();
  private final long limit;

  CountingAccount(long limit) {
    this.limit = limit;
  }

  long held() {
    return held.get();
  }

  @Override
  public void acquire(long bytes) {
    if (held.addAndGet(bytes) > limit) {
      held.addAndGet(-bytes);
      throw new JumpgateException(ErrorCode.MEMORY, "the task may hold no more than " + limit + " bytes");
    }
  }

  @Override
  public void release(long bytes) {
    held.addAndGet(-bytes);
  }
}
