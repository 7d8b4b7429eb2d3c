package io.jumpgate.client;

import io.grpc.Context;
import io.grpc.stub.StreamObserver;
import io.jumpgate.ErrorCode;
import io.jumpgate.JumpgateException;
import io.jumpgate.v1.Event;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * A running job. It ends by {@code done}, or by the job's error, whoever waits for it or not. What was received counts
 * only once
 * {@link #await} has returned: complete data of a failed job is not an answer.
 */
public final class Execution {
  private static final String DONE = "done";
  /** Longer than a service waits for the cause of what it sees itself. */
  private static final int CAUSE_SECONDS = 8;

  private final CompletableFuture<Event> done = new CompletableFuture<>();
  private final Context.CancellableContext context;

  Execution(Context.CancellableContext context) {
    this.context = context;
  }

  /** Waits for the end and returns the last event, which has all counters. Raises the job's error. */
  public Event await() throws InterruptedException {
    try {
      return done.get();
    } catch (ExecutionException e) {
      throw (JumpgateException) e.getCause();
    }
  }

  /**
   * What an edge's failure is a symptom of: the job's error, if the service names one soon, else {@code seen}.
   */
  public JumpgateException cause(JumpgateException seen) throws InterruptedException {
    try {
      done.get(CAUSE_SECONDS, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      return (JumpgateException) e.getCause();
    } catch (TimeoutException e) {
      // the service says nothing
    }
    return seen;
  }

  public boolean isDone() {
    return done.isDone();
  }

  /**
   * Calls back, at once if it is so already, when the job has failed or was cancelled: an endpoint that waits can be
   * closed.
   */
  public void onFailure(Consumer<JumpgateException> listener) {
    done.whenComplete((event, error) -> {
      if (error != null) {
        Throwable cause = error instanceof CompletionException ? error.getCause() : error;
        listener.accept((JumpgateException) cause);
      }
    });
  }

  /** Ends the job, as a client that goes away does; nothing happens if it has ended. */
  public void cancel() {
    if (done.completeExceptionally(new JumpgateException(ErrorCode.CANCELLED, "the job was cancelled by its client"))) {
      context.cancel(null);
    }
  }

  StreamObserver<Event> observer(Consumer<Event> listener, Function<Throwable, JumpgateException> typed) {
    return new StreamObserver<>() {
      private Event last = Event.getDefaultInstance();

      @Override
      public void onNext(Event event) {
        last = event;
        listener.accept(event);
      }

      @Override
      public void onError(Throwable error) {
        done.completeExceptionally(typed.apply(error));
        context.cancel(null);
      }

      @Override
      public void onCompleted() {
        if (last.getState().equals(DONE)) {
          done.complete(last);
        } else {
          done.completeExceptionally(new JumpgateException(ErrorCode.PROTOCOL,
              "the service ended the job's events in state '" + last.getState() + "', before it was done"));
        }
        context.cancel(null);
      }
    };
  }
}
