package anabranch;

import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.PartitionReader;

/** Spark's own reader of a task, which makes every column of a record, passed through the client's meter. */
final class MeteredReader implements PartitionReader {
  private static final int KEY = 0;
  private static final int VALUE = 1;

  private final PartitionReader records;
  private final ReadTap tap;

  MeteredReader(PartitionReader records, ReadTap tap) {
    this.records = records;
    this.tap = tap;
  }

  public boolean next() throws IOException {
    if (!records.next()) {
      return false;
    }
    InternalRow row = (InternalRow) records.get();
    tap.passed(size(row, KEY) + size(row, VALUE));
    return true;
  }

  private static long size(InternalRow row, int column) {
    return row.isNullAt(column) ? 0 : row.getBinary(column).length;
  }

  public Object get() {
    return records.get();
  }

  public void close() throws IOException {
    tap.close();
    records.close();
  }
}
