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
public final class RecordCounter extends AccumulatorV2 {
  /** Read by the thread that reports a task's progress to the driver, while the task counts. */
  private ConcurrentHashMap counts = new ConcurrentHashMap();
  private long amount;
  /** Most records are of the same number as the one before: they are put into the map together. */
  private long last;
  private long run;

  /** A new counter. Spark finds it by its id for as long as the driver references it. */
  public static RecordCounter registered(SparkContext spark) {
    RecordCounter counter = new RecordCounter();
    spark.register(counter);
    return counter;
  }

  static RecordCounter known(long id) {
    return (RecordCounter) AccumulatorContext.get(id).get();
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
    StringBuilder text = new StringBuilder();
    for (Object entry : counts.entrySet()) {
      text.append(((Map.Entry) entry).getKey()).append('=').append(((Map.Entry) entry).getValue()).append(' ');
    }
    return text.toString();
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
    RecordCounter copied = new RecordCounter();
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
    RecordCounter other = (RecordCounter) given;
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
