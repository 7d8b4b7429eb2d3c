package io.jumpgate.ntf;

import io.jumpgate.ErrorCode;
import io.jumpgate.JumpgateException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;

/**
 * Reads an endpoint on a thread of its own, a bounded number of frames ahead: for engines whose threads never wait for
 * a network, and to receive while others compute. Thread-safe.
 */
public final class ReadAhead implements AutoCloseable {
  private final Endpoint endpoint;
  private final int framesMax;
  private final Thread thread;

  private final Object lock = new Object(); // of what follows
  private final Deque<Frame> frames = new ArrayDeque<>();
  private CompletableFuture<Void> ready = new CompletableFuture<>();
  private JumpgateException failure;
  private boolean ended;
  private boolean draining;
  private boolean closed;

  /** Begins to read the endpoint, which has been told what to expect, and closes it in the end. */
  public ReadAhead(Endpoint endpoint, int framesMax) {
    if (framesMax < 1) {
      throw new IllegalArgumentException(framesMax + " frames ahead");
    }
    this.endpoint = endpoint;
    this.framesMax = framesMax;
    thread = new Thread(this::read, "jumpgate-receiver");
    thread.setDaemon(true);
    thread.start();
  }

  /**
   * The next frame, which the caller closes; null if there is none yet, or no more. Raises the error that ended the
   * edge, at once: frames before it are not an answer.
   */
  public Frame poll() {
    synchronized (lock) {
      if (failure != null) {
        throw failure;
      }
      Frame frame = frames.poll();
      if (frame != null) {
        lock.notifyAll();
      }
      if (frames.isEmpty() && !ended && ready.isDone()) {
        ready = new CompletableFuture<>();
      }
      return frame;
    }
  }

  /** Whether {@link #poll} would give a frame. */
  public boolean hasFrame() {
    synchronized (lock) {
      return failure == null && !frames.isEmpty();
    }
  }

  /** Done as soon as {@link #poll} has something to give or to raise, or {@link #isFinished}. Never fails. */
  public CompletableFuture<Void> ready() {
    synchronized (lock) {
      return ready;
    }
  }

  /** Whether every frame was handed out and all producers have ended as they should. */
  public boolean isFinished() {
    synchronized (lock) {
      return ended && failure == null && frames.isEmpty();
    }
  }

  /** Throws away what was not handed out, and what still comes, so that other receivers of the edge go on. */
  public void drain() {
    synchronized (lock) {
      draining = true;
      frames.forEach(Frame::close);
      frames.clear();
      lock.notifyAll();
    }
  }

  /**
   * Gives up what was not handed out; whoever waits gets {@code cancelled} from {@link #poll}, unless the edge has
   * ended.
   */
  @Override
  public void close() {
    synchronized (lock) {
      closed = true;
      if (failure == null && !isFinished()) {
        failure = new JumpgateException(ErrorCode.CANCELLED, "closed before everything was read");
      }
      frames.forEach(Frame::close);
      frames.clear();
      lock.notifyAll();
    }
    endpoint.close();
  }

  private void read() {
    JumpgateException error = null;
    try {
      for (Frame frame = endpoint.next(); frame != null && add(frame); frame = endpoint.next()) {
        // until add is told to stop, or the edge has ended
      }
    } catch (JumpgateException e) {
      error = e;
    } catch (InterruptedException e) {
      error = new JumpgateException(ErrorCode.CANCELLED, "the thread that reads ahead was interrupted");
    } finally {
      endpoint.close();
      CompletableFuture<Void> waiting;
      synchronized (lock) {
        ended = true;
        failure = failure == null ? error : failure;
        waiting = ready;
      }
      waiting.complete(null);
    }
  }

  /** Once there is room; false if nobody wants it. */
  private boolean add(Frame frame) throws InterruptedException {
    CompletableFuture<Void> waiting;
    synchronized (lock) {
      while (frames.size() >= framesMax && !closed) {
        lock.wait();
      }
      if (draining) {
        frame.close();
        return !closed;
      }
      if (closed) {
        frame.close();
        return false;
      }
      frames.add(frame);
      waiting = ready;
    }
    waiting.complete(null);
    return true;
  }
}
