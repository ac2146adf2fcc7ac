package anabranch;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.PartitionKey;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.DataWriteResult;
import org.apache.iceberg.io.FileWriterFactory;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.iceberg.io.RollingDataWriter;
import org.apache.iceberg.types.Types;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;

/**
 * One task's files, one for each hour or day that it meets. Rows come in runs of one period: the partition is worked out, and
 * its file looked for, when another one begins. Iceberg's writer does both for every row.
 *
 * An open file holds buffers of a megabyte and more, so only so many are open at a time. Rows of further periods are sorted by
 * period and written at the end, one file after the other.
 */
final class PeriodWriter implements DataWriter {
  private final Table table;
  private final PartitionSpec spec;
  private final Schema columns;
  private final OutputFileFactory files;
  private final FileWriterFactory writers;
  private final long fileSize;
  private final StructType rows;
  private final int most;
  private final int column;
  private final long period;

  /** By the number of the period; those of rows that say no moment by null. */
  private final Map open = new HashMap();
  private final List made = new ArrayList();
  private OverflowRows overflow;
  private RollingDataWriter current;
  private long begin;

  PeriodWriter(
      Table table,
      PartitionSpec spec,
      Schema columns,
      OutputFileFactory files,
      FileWriterFactory writers,
      long fileSize,
      StructType rows,
      int most) {
    this.table = table;
    this.spec = spec;
    this.columns = columns;
    this.files = files;
    this.writers = writers;
    this.fileSize = fileSize;
    this.rows = rows;
    this.most = most;
    this.period = periodOf(spec);
    this.column = columnOf(spec, columns);
  }

  /** How long it is in microseconds, or 0 if the table is not partitioned by hours or days of one moment alone. */
  static long periodOf(PartitionSpec spec) {
    if (spec.fields().size() != 1 || columnOf(spec, spec.schema()) < 0) {
      return 0;
    }
    return Periods.lengthOf(((PartitionField) spec.fields().get(0)).transform().toString());
  }

  /** Where in a row the moment is, or -1 if it is none in microseconds, or part of something else. */
  private static int columnOf(PartitionSpec spec, Schema columns) {
    int source = ((PartitionField) spec.fields().get(0)).sourceId();
    for (int i = 0; i < columns.columns().size(); i++) {
      Types.NestedField field = (Types.NestedField) columns.columns().get(i);
      if (field.fieldId() == source) {
        return field.type() instanceof Types.TimestampType ? i : -1;
      }
    }
    return -1;
  }

  public void write(Object record) throws IOException {
    InternalRow row = (InternalRow) record;
    if (row.isNullAt(column)) {
      fileOf(null, null).write(row);
      return;
    }
    long moment = row.getLong(column);
    if (current != null && moment >= begin && moment < begin + period) {
      current.write(row);
      return;
    }
    Long number = Long.valueOf(Math.floorDiv(moment, period));
    if (open.size() >= most && !open.containsKey(number)) {
      keep(row, number.longValue());
      return;
    }
    turnTo(number, moment);
    current.write(row);
  }

  private void keep(InternalRow row, long number) throws IOException {
    if (overflow == null) {
      overflow = new OverflowRows(rows);
    }
    overflow.add(row, number);
  }

  private void turnTo(Long number, long moment) {
    current = fileOf(number, Long.valueOf(moment));
    begin = number.longValue() * period;
  }

  private RollingDataWriter fileOf(Long number, Long moment) {
    RollingDataWriter found = (RollingDataWriter) open.get(number);
    if (found == null) {
      PartitionKey partition = new PartitionKey(spec, columns);
      partition.partition(new Moment(moment));
      found = new RollingDataWriter(writers, files, table.io(), fileSize, spec, partition);
      open.put(number, found);
      OpenFiles.opened(open.size());
    }
    return found;
  }

  /** Those of the periods that had no file yet: none of them has one open, and each has one when its turn comes. */
  private void writeOverflow() throws IOException {
    if (overflow == null) {
      return;
    }
    close();
    scala.collection.Iterator sorted = overflow.sorted();
    while (sorted.hasNext()) {
      InternalRow row = (InternalRow) sorted.next();
      long moment = row.getLong(column);
      if (current == null || moment < begin || moment >= begin + period) {
        close();
        turnTo(Long.valueOf(Math.floorDiv(moment, period)), moment);
      }
      current.write(row);
    }
  }

  public WriterCommitMessage commit() throws IOException {
    writeOverflow();
    close();
    return new SliceFiles(made);
  }

  public void abort() throws IOException {
    try {
      close();
    } finally {
      new SliceFiles(made).drop(table);
    }
  }

  /** All of them, so that each can be dropped, whichever cannot be closed. */
  public void close() throws IOException {
    IOException failed = null;
    for (Object each : open.values()) {
      RollingDataWriter file = (RollingDataWriter) each;
      try {
        file.close();
        made.addAll(((DataWriteResult) file.result()).dataFiles());
      } catch (IOException error) {
        failed = error;
      }
    }
    open.clear();
    current = null;
    if (failed != null) {
      throw failed;
    }
  }

  /** A row of which nothing is asked but the one moment. */
  private static final class Moment implements StructLike {
    private final Long moment;

    Moment(Long moment) {
      this.moment = moment;
    }

    public int size() {
      return 1;
    }

    public Object get(int position, Class kind) {
      return moment;
    }

    public void set(int position, Object value) {
      throw new UnsupportedOperationException();
    }
  }
}
