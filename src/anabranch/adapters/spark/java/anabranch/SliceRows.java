package anabranch;

import java.lang.reflect.Field;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.apache.iceberg.Schema;
import org.apache.iceberg.formats.BaseFormatModel;
import org.apache.iceberg.formats.FormatModelRegistry;
import org.apache.iceberg.parquet.ParquetFormatModel;
import org.apache.iceberg.parquet.ParquetValueWriter;
import org.apache.iceberg.shaded.org.apache.parquet.bytes.ByteBufferAllocator;
import org.apache.iceberg.shaded.org.apache.parquet.column.ColumnDescriptor;
import org.apache.iceberg.shaded.org.apache.parquet.column.ColumnWriteStore;
import org.apache.iceberg.shaded.org.apache.parquet.column.ColumnWriter;
import org.apache.iceberg.shaded.org.apache.parquet.column.Encoding;
import org.apache.iceberg.shaded.org.apache.parquet.column.values.dictionary.DictionaryValuesWriter;
import org.apache.iceberg.shaded.org.apache.parquet.column.values.fallback.FallbackValuesWriter;
import org.apache.iceberg.shaded.org.apache.parquet.schema.MessageType;
import org.apache.iceberg.spark.data.SparkParquetWriters;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;

/** Rows on their way into a Parquet file, as Iceberg writes them, with dictionaries of ours. */
public final class SliceRows implements ParquetValueWriter {
  /** The kind of rows under which Iceberg finds this way to write them. */
  static final Class KIND = UnsafeRow.class;

  private static final Field DATA;
  private static final Field MOST;
  private static final Field PAGE;
  private static final Field ALLOCATOR;

  static {
    DATA = field("org.apache.iceberg.shaded.org.apache.parquet.column.impl.ColumnWriterBase", "dataColumn");
    String dictionary = DictionaryValuesWriter.class.getName();
    MOST = field(dictionary, "maxDictionaryByteSize");
    PAGE = field(dictionary, "encodingForDictionaryPage");
    ALLOCATOR = field(dictionary, "allocator");
    FormatModelRegistry.register(
        ParquetFormatModel.create(
            KIND,
            StructType.class,
            new BaseFormatModel.WriterFunction() {
              public Object write(Schema schema, Object file, Object rows) {
                return new SliceRows(schema, (MessageType) file, (StructType) rows);
              }
            },
            null));
  }

  private static final AtomicLong REPLACED = new AtomicLong();

  private final ParquetValueWriter theirs;
  private final List columns;

  private SliceRows(Schema schema, MessageType file, StructType rows) {
    this.theirs = SparkParquetWriters.buildWriter(schema, file, rows);
    this.columns = file.getColumns();
  }

  /** How many are of ours in this JVM until now. */
  public static long dictionaries() {
    return REPLACED.get();
  }

  public void write(int repetition, Object row) {
    theirs.write(repetition, row);
  }

  public List columns() {
    return theirs.columns();
  }

  public Stream metrics() {
    return theirs.metrics();
  }

  /** Asked for each group of rows, before there is anything in it. */
  public void setColumnStore(ColumnWriteStore store) {
    theirs.setColumnStore(store);
    for (Object column : columns) {
      replaceDictionary(store.getColumnWriter((ColumnDescriptor) column));
    }
  }

  private static void replaceDictionary(ColumnWriter column) {
    try {
      Object values = DATA.get(column);
      if (!(values instanceof FallbackValuesWriter)) {
        return; // the table wants no dictionaries
      }
      FallbackValuesWriter former = (FallbackValuesWriter) values;
      if (former.initialWriter instanceof DictionaryValuesWriter.PlainBinaryDictionaryValuesWriter) {
        TextDictionary ours =
            new TextDictionary(
                MOST.getInt(former.initialWriter),
                former.initialWriter.getEncoding(),
                (Encoding) PAGE.get(former.initialWriter),
                (ByteBufferAllocator) ALLOCATOR.get(former.initialWriter));
        DATA.set(column, FallbackValuesWriter.of(ours, former.fallBackWriter));
        REPLACED.incrementAndGet();
      }
    } catch (IllegalAccessException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  private static Field field(String owner, String name) {
    try {
      Field found = Class.forName(owner).getDeclaredField(name);
      found.setAccessible(true);
      return found;
    } catch (ReflectiveOperationException gone) {
      throw new IllegalStateException("another version of Iceberg", gone);
    }
  }
}
