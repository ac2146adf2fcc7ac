package anabranch;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;

/**
 * Counts the records that one client reads, by slice, and limits the bytes that it reads per second. All tasks of a JVM share
 * the meter of their client, so the limit holds for them together, within a slice and across slices.
 *
 * <p>The limit is a token bucket: over any t seconds at most rate * (t + BURST_SECONDS) bytes pass, plus one chunk for each task.
 */
public final class ReadMeter {
  static final double BURST_SECONDS = 0.1;
  /** How often a waiting task looks whether the limit was changed or the task was killed. */
  private static final long LONGEST_WAIT_MILLIS = 100;
  private static final long UNLIMITED = 0;
  /** Of an executor that the driver has not told its share yet: it reads nothing. */
  private static final long UNKNOWN = -1;
  /** Beside the names of slices. */
  private static final String BYTES = "/bytes";

  private static final ConcurrentHashMap METERS = new ConcurrentHashMap();

  private final ConcurrentHashMap records = new ConcurrentHashMap();
  private final LongAdder bytes = new LongAdder();
  /** What the executors of a cluster have counted, by their ids. */
  private final ConcurrentHashMap reported = new ConcurrentHashMap();
  /** For blocks: the compiler that Spark brings along ignores `synchronized` on a private method. */
  private final Object lock = new Object();
  private volatile long rate;
  private double available;
  private long refilled = System.nanoTime();

  private ReadMeter(long rate) {
    this.rate = rate;
  }

  /** The client's meter in this JVM. */
  public static ReadMeter of(String client) {
    ReadMeter found = (ReadMeter) METERS.get(client);
    if (found == null) {
      METERS.putIfAbsent(client, new ReadMeter(isDriver() ? UNLIMITED : UNKNOWN));
      found = (ReadMeter) METERS.get(client);
    }
    return found;
  }

  static Map all() {
    return new HashMap(METERS);
  }

  private static boolean isDriver() {
    return SparkEnv.get() == null || "driver".equals(SparkEnv.get().executorId());
  }

  /** Limits the reading from now on, of tasks that are running too. 0: no limit. */
  public void limit(long bytesPerSecond) {
    synchronized (lock) {
      if (bytesPerSecond != rate) {
        refill();
        rate = bytesPerSecond;
        available = Math.min(available, burst());
        lock.notifyAll();
      }
    }
  }

  public long rate() {
    return rate;
  }

  /** Bytes of keys and values that passed so far. */
  public long bytes() {
    return bytes.sum() + reported(BYTES);
  }

  /** Records of the slice that passed so far. A record that was read again counts again. */
  public long records(String slice) {
    LongAdder found = (LongAdder) records.get(slice);
    return (found == null ? 0 : found.sum()) + reported(slice);
  }

  private long reported(String name) {
    long sum = 0;
    for (Object counts : reported.values()) {
      Long found = (Long) ((Map) counts).get(name);
      sum += found == null ? 0 : found.longValue();
    }
    return sum;
  }

  void report(String executor, Map counts) {
    reported.put(executor, counts);
  }

  /** What this JVM has counted, by slice. */
  Map counts() {
    Map found = new HashMap();
    for (Object entry : records.entrySet()) {
      found.put(((Map.Entry) entry).getKey(), Long.valueOf(((LongAdder) ((Map.Entry) entry).getValue()).sum()));
    }
    found.put(BYTES, Long.valueOf(bytes.sum()));
    return found;
  }

  /** Counts these as read, and returns when the limit has room for them. */
  public void take(String slice, long count, long size) {
    count(slice, count);
    owe(size);
    await();
  }

  void count(String slice, long count) {
    LongAdder adder = (LongAdder) records.get(slice);
    if (adder == null) {
      records.putIfAbsent(slice, new LongAdder());
      adder = (LongAdder) records.get(slice);
    }
    adder.add(count);
  }

  /** How many bytes a task may read before it asks: a fiftieth of a second's. */
  long chunk() {
    long now = rate;
    return now == UNLIMITED ? 1 << 16 : now / 50;
  }

  /** Counts these bytes as read; whoever reads next waits for them. */
  void owe(long size) {
    synchronized (lock) {
      bytes.add(size);
      refill();
      available -= rate == UNLIMITED ? 0 : size;
    }
  }

  private void await() {
    synchronized (lock) {
      refill();
      while (rate == UNKNOWN || (rate != UNLIMITED && available < 0)) {
        double millis = rate == UNKNOWN ? LONGEST_WAIT_MILLIS : -available * 1000 / rate;
        try {
          lock.wait(1 + (long) Math.min(LONGEST_WAIT_MILLIS, millis));
        } catch (InterruptedException interrupted) {
          Thread.currentThread().interrupt();
          throw new IllegalStateException("the task was interrupted while it waited for the rate limit", interrupted);
        }
        if (TaskContext.get() != null) {
          TaskContext.get().killTaskIfInterrupted();
        }
        refill();
      }
    }
  }

  /** With the lock held. */
  private void refill() {
    long now = System.nanoTime();
    if (rate > 0) {
      available = Math.min(burst(), available + (now - refilled) / 1e9 * rate);
    } else {
      available = 0;
    }
    refilled = now;
  }

  private double burst() {
    return rate > 0 ? rate * BURST_SECONDS : 0;
  }
}
