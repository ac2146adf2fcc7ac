package anabranch;

import java.lang.reflect.Field;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.iceberg.shaded.org.apache.parquet.bytes.ByteBufferAllocator;
import org.apache.iceberg.shaded.org.apache.parquet.column.ColumnWriter;
import org.apache.iceberg.shaded.org.apache.parquet.column.Encoding;
import org.apache.iceberg.shaded.org.apache.parquet.column.values.dictionary.DictionaryValuesWriter;
import org.apache.iceberg.shaded.org.apache.parquet.column.values.fallback.FallbackValuesWriter;

/** Puts our dictionaries of texts in the place of Parquet's, which has no way to be told of others. */
public final class Dictionaries {
  private static final String OWNER = DictionaryValuesWriter.class.getName();
  private static final Field VALUES =
      PrivateFields.field("org.apache.iceberg.shaded.org.apache.parquet.column.impl.ColumnWriterBase", "dataColumn");
  private static final Field MOST = PrivateFields.field(OWNER, "maxDictionaryByteSize");
  private static final Field PAGE = PrivateFields.field(OWNER, "encodingForDictionaryPage");
  private static final Field ALLOCATOR = PrivateFields.field(OWNER, "allocator");
  private static final AtomicLong REPLACED = new AtomicLong();

  private Dictionaries() {}

  /** How many are of ours in this JVM until now. */
  public static long replaced() {
    return REPLACED.get();
  }

  /** In a column that nothing was written to yet. One whose table wants no dictionaries is left as it is. */
  static void replace(ColumnWriter column) {
    try {
      Object values = VALUES.get(column);
      if (values instanceof FallbackValuesWriter) {
        FallbackValuesWriter former = (FallbackValuesWriter) values;
        if (former.initialWriter instanceof DictionaryValuesWriter.PlainBinaryDictionaryValuesWriter) {
          VALUES.set(column, FallbackValuesWriter.of(like(former), former.fallBackWriter));
          REPLACED.incrementAndGet();
        }
      }
    } catch (IllegalAccessException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  private static TextDictionary like(FallbackValuesWriter former) throws IllegalAccessException {
    return new TextDictionary(
        MOST.getInt(former.initialWriter),
        former.initialWriter.getEncoding(),
        (Encoding) PAGE.get(former.initialWriter),
        (ByteBufferAllocator) ALLOCATOR.get(former.initialWriter));
  }
}
