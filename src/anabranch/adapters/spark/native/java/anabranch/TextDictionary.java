package anabranch;

import java.util.Arrays;
import org.apache.iceberg.shaded.org.apache.parquet.bytes.ByteBufferAllocator;
import org.apache.iceberg.shaded.org.apache.parquet.column.Encoding;
import org.apache.iceberg.shaded.org.apache.parquet.column.page.DictionaryPage;
import org.apache.iceberg.shaded.org.apache.parquet.column.values.ValuesWriter;
import org.apache.iceberg.shaded.org.apache.parquet.column.values.dictionary.DictionaryValuesWriter;
import org.apache.iceberg.shaded.org.apache.parquet.column.values.dictionary.IntList;
import org.apache.iceberg.shaded.org.apache.parquet.column.values.plain.PlainValuesWriter;
import org.apache.iceberg.shaded.org.apache.parquet.io.api.Binary;
import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.unsafe.Platform;

/**
 * Parquet's dictionary of texts, laid out for the processor's cache: all texts one behind the other, and a table of numbers.
 * Parquet's own has two objects for each text, wherever the heap had room, and spends its time waiting for memory.
 *
 * What is written is the same to the byte: texts are numbered in the order in which they come.
 */
final class TextDictionary extends DictionaryValuesWriter {
  private static final int FIRST = 1 << 6;
  /** That of Spark's own function, so that a test can look for texts with the same hash. */
  private static final long SEED = 42L;

  /** In each place that is taken: a text's hash in the upper half, and in the lower one its number, counted from 1. */
  private long[] places;
  /** Where each text begins; one more for the end of the last. */
  private int[] begins;
  private byte[] texts;
  private int size;

  TextDictionary(int most, Encoding page, Encoding dictionary, ByteBufferAllocator allocator) {
    super(most, page, dictionary, allocator);
    clearDictionaryContent();
  }

  protected void clearDictionaryContent() {
    places = new long[FIRST];
    begins = new int[FIRST / 2 + 1];
    texts = new byte[FIRST * 8];
    size = 0;
  }

  protected int getDictionarySize() {
    return size;
  }

  public void writeBytes(Binary text) {
    encodedValues.add(numberOf(text.getBytesUnsafe(), text.length()));
  }

  private int numberOf(byte[] text, int length) {
    int hash = (int) XXH64.hashUnsafeBytes(text, Platform.BYTE_ARRAY_OFFSET, length, SEED);
    int last = places.length - 1;
    int at = hash & last;
    for (long taken = places[at]; taken != 0L; taken = places[at]) {
      if ((int) (taken >>> 32) == hash && same((int) taken - 1, text, length)) {
        return (int) taken - 1;
      }
      at = (at + 1) & last;
    }
    places[at] = ((long) hash << 32) | (size + 1);
    return add(text, length);
  }

  private boolean same(int number, byte[] text, int length) {
    return Arrays.equals(texts, begins[number], begins[number + 1], text, 0, length);
  }

  private int add(byte[] text, int length) {
    int begin = begins[size];
    if (length > texts.length - begin) {
      texts = Arrays.copyOf(texts, Math.max(begin + length, texts.length * 2));
    }
    System.arraycopy(text, 0, texts, begin, length);
    size++;
    begins[size] = begin + length;
    dictionaryByteSize += 4L + length;
    if (size == begins.length - 1) {
      grow();
    }
    return size - 1;
  }

  /** Half of the places at most are taken. */
  private void grow() {
    long[] former = places;
    places = new long[former.length * 4];
    begins = Arrays.copyOf(begins, places.length / 2 + 1);
    int last = places.length - 1;
    for (int i = 0; i < former.length; i++) {
      if (former[i] != 0L) {
        int at = (int) (former[i] >>> 32) & last;
        while (places[at] != 0L) {
          at = (at + 1) & last;
        }
        places[at] = former[i];
      }
    }
  }

  public DictionaryPage toDictPageAndClose() {
    if (lastUsedDictionarySize == 0) {
      return null; // no page had need of it
    }
    PlainValuesWriter page = new PlainValuesWriter(lastUsedDictionaryByteSize, maxDictionaryByteSize, allocator);
    for (int number = 0; number < lastUsedDictionarySize; number++) {
      page.writeBytes(text(number));
    }
    return dictPage(page);
  }

  protected void fallBackDictionaryEncodedData(ValuesWriter plain) {
    IntList.IntIterator numbers = encodedValues.iterator();
    while (numbers.hasNext()) {
      plain.writeBytes(text(numbers.next()));
    }
  }

  private Binary text(int number) {
    return Binary.fromConstantByteArray(texts, begins[number], begins[number + 1] - begins[number]);
  }
}
