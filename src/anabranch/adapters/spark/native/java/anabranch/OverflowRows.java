package anabranch;

import java.io.IOException;
import java.util.function.Supplier;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.UnsafeExternalRowSorter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.collection.unsafe.sort.PrefixComparators;
import org.apache.spark.util.collection.unsafe.sort.RecordComparator;

/**
 * Rows of one task that wait to be written, sorted by the number of their period. They are in Spark's execution memory, and on
 * disk when that is used up; Spark frees both when the task ends, however it ends.
 */
final class OverflowRows {
  private final UnsafeExternalRowSorter sorter;
  private final Period next;
  private final StructType rows;
  private UnsafeProjection copy;

  OverflowRows(StructType rows) throws IOException {
    this.rows = rows;
    this.next = new Period();
    this.sorter =
        UnsafeExternalRowSorter.createWithRecordComparator(
            rows, new NoOrder(), PrefixComparators.LONG, next, SparkEnv.get().memoryManager().pageSizeBytes(), true);
  }

  void add(InternalRow row, long period) throws IOException {
    next.prefix.value = period;
    sorter.insertRow(row instanceof UnsafeRow ? (UnsafeRow) row : unsafe(row));
  }

  private UnsafeRow unsafe(InternalRow row) {
    if (copy == null) {
      copy = UnsafeProjection.create(rows);
    }
    return copy.apply(row);
  }

  /** All of them once, by period; within a period in the order in which they were added. The row object is reused. */
  scala.collection.Iterator sorted() throws IOException {
    return sorter.sort();
  }

  /** The period of the row that is being added. */
  private static final class Period extends UnsafeExternalRowSorter.PrefixComputer {
    private final UnsafeExternalRowSorter.PrefixComputer.Prefix prefix =
        new UnsafeExternalRowSorter.PrefixComputer.Prefix();

    public UnsafeExternalRowSorter.PrefixComputer.Prefix computePrefix(InternalRow row) {
      return prefix;
    }
  }

  /** The prefix is the whole sort key. */
  private static final class NoOrder extends RecordComparator implements Supplier {
    public Object get() {
      return this;
    }

    public int compare(Object left, long leftAt, int leftLength, Object right, long rightAt, int rightLength) {
      return 0;
    }
  }
}
