package anabranch;

import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;

/** How many files a task may have open at a time: as many as fit into its part of an eighth of the heap. */
public final class OpenFiles {
  /** More than that are no quicker than rows sorted first. */
  public static final int MOST = 32;
  /** What Parquet takes to compress a page into, once per file. */
  private static final long FILE = 1L << 20;
  /** What it takes for the pages and the dictionary of a column before anything much is in them. */
  private static final long COLUMN = 64L << 10;

  private static final AtomicInteger PEAK = new AtomicInteger();

  private OpenFiles() {}

  /** The most that one task of this JVM has had open until now. */
  public static int peak() {
    return PEAK.get();
  }

  /** So many are open in a task. Where it is no new peak, it costs a read of one number. */
  static void opened(int files) {
    int peak = PEAK.get();
    while (files > peak && !PEAK.compareAndSet(peak, files)) {
      peak = PEAK.get();
    }
  }

  static int most(StructType rows, Runtime machine) {
    return most(columnsOf(rows), machine.maxMemory(), machine.availableProcessors());
  }

  /** At least one: a file has to be open to be written. */
  public static int most(int columns, long heap, int tasks) {
    long fit = heap / 8 / Math.max(1, tasks) / (FILE + COLUMN * columns);
    return (int) Math.max(1, Math.min(MOST, fit));
  }

  /** Of the file, where every leaf of a nested column is one. */
  static int columnsOf(DataType type) {
    if (type instanceof StructType) {
      StructType struct = (StructType) type;
      int found = 0;
      for (int i = 0; i < struct.length(); i++) {
        found += columnsOf(struct.fields()[i].dataType());
      }
      return found;
    }
    if (type instanceof ArrayType) {
      return columnsOf(((ArrayType) type).elementType());
    }
    if (type instanceof MapType) {
      return columnsOf(((MapType) type).keyType()) + columnsOf(((MapType) type).valueType());
    }
    return 1;
  }
}
