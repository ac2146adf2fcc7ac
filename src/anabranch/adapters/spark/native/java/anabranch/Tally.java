package anabranch;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkContext;
import org.apache.spark.util.AccumulatorContext;
import org.apache.spark.util.AccumulatorV2;

/**
 * How often each number was met, and the sum of the amounts that came with them. Every task counts for itself, and what
 * the successful ones have counted is added up in the driver, as Spark does with its own metrics.
 */
public final class Tally extends AccumulatorV2 {
  /** Looked at by the thread that tells the driver of a task's progress, while the task counts. */
  private ConcurrentHashMap counts = new ConcurrentHashMap();
  private long amount;
  /** Most records are of the same number as the one before: they are put into the map together. */
  private long last;
  private long run;

  /** A new one. Spark knows it by its id for as long as somebody holds it. */
  public static Tally begun(SparkContext spark) {
    Tally tally = new Tally();
    spark.register(tally);
    return tally;
  }

  static Tally known(long id) {
    return (Tally) AccumulatorContext.get(id).get();
  }

  void count(long number, long more) {
    if (number != last) {
      settle();
      last = number;
    }
    run++;
    amount += more;
  }

  public long amount() {
    return amount;
  }

  /** As one text, `number=count` after `number=count`, since every look into the JVM takes its time. */
  public String counts() {
    settle();
    StringBuilder said = new StringBuilder();
    for (Object entry : counts.entrySet()) {
      said.append(((Map.Entry) entry).getKey()).append('=').append(((Map.Entry) entry).getValue()).append(' ');
    }
    return said.toString();
  }

  private void settle() {
    if (run > 0) {
      put(last, run);
      run = 0;
    }
  }

  private void put(long number, long count) {
    Long before = (Long) counts.get(Long.valueOf(number));
    counts.put(Long.valueOf(number), Long.valueOf(before == null ? count : before.longValue() + count));
  }

  public boolean isZero() {
    return counts.isEmpty() && run == 0 && amount == 0;
  }

  public AccumulatorV2 copy() {
    Tally copied = new Tally();
    copied.merge(this);
    return copied;
  }

  public void reset() {
    counts = new ConcurrentHashMap();
    amount = 0;
    run = 0;
  }

  public void add(Object number) {
    count(((Long) number).longValue(), 0);
  }

  public void merge(AccumulatorV2 given) {
    Tally other = (Tally) given;
    settle();
    for (Object entry : other.counts.entrySet()) {
      put(((Long) ((Map.Entry) entry).getKey()).longValue(), ((Long) ((Map.Entry) entry).getValue()).longValue());
    }
    if (other.run > 0) {
      put(other.last, other.run);
    }
    amount += other.amount;
  }

  /** Asked for by other threads while a task counts: nothing may be changed here, or a record is lost to the count. */
  public Object value() {
    return Long.valueOf(amount);
  }
}
