package anabranch;

import java.sql.Timestamp;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.catalyst.util.DateTimeUtils$;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.kafka010.consumer.KafkaDataConsumer;
import org.apache.spark.unsafe.types.UTF8String;

/** The records of one task, by Spark's own consumer, which is strict about offsets that are gone. */
final class SliceReader implements PartitionReader {
  private static final int KEY = 0;
  private static final int VALUE = 1;
  private static final int TOPIC = 2;
  private static final int PARTITION = 3;
  private static final int OFFSET = 4;
  private static final int TIMESTAMP = 5;
  private static final int TIMESTAMP_TYPE = 6;
  private static final String[] NAMES = {"key", "value", "topic", "partition", "offset", "timestamp", "timestampType"};

  private final KafkaBatchInputPartition part;
  private final KafkaDataConsumer consumer;
  private final int[] columns;
  private final UnsafeRowWriter row;
  private final UTF8String topic;
  private final long until;
  private final ReadTap tap;
  private long next;

  SliceReader(KafkaBatchInputPartition part, String[] columns, ReadTap tap) {
    this.part = part;
    this.tap = tap;
    this.columns = new int[columns.length];
    for (int i = 0; i < columns.length; i++) {
      this.columns[i] = numberOf(columns[i]);
    }
    this.row = new UnsafeRowWriter(columns.length, 512);
    this.topic = UTF8String.fromString(part.offsetRange().topic());
    this.next = part.offsetRange().fromOffset();
    this.until = part.offsetRange().untilOffset();
    if (next < 0 || until < 0) {
      throw new IllegalStateException("a slice has offsets, and no names for them: " + part.offsetRange());
    }
    this.consumer = KafkaDataConsumer.acquire(part.offsetRange().topicPartition(), part.executorKafkaParams());
  }

  /** Whether records have that column here. Headers are for Spark's own reader. */
  static boolean makes(String column) {
    return numberOf(column) >= 0;
  }

  private static int numberOf(String column) {
    for (int i = 0; i < NAMES.length; i++) {
      if (NAMES[i].equals(column)) {
        return i;
      }
    }
    return -1;
  }

  public boolean next() {
    if (next >= until) {
      return false;
    }
    ConsumerRecord record = consumer.get(next, until, part.pollTimeoutMs(), part.failOnDataLoss());
    if (record == null) {
      return false; // up to the end there is nothing but markers, or what compaction took
    }
    write(record);
    next = record.offset() + 1;
    tap.passed(size(record.key()) + size(record.value()));
    return true;
  }

  public Object get() {
    return row.getRow();
  }

  public void close() {
    tap.close();
    consumer.release();
  }

  private static long size(Object bytes) {
    return bytes == null ? 0 : ((byte[]) bytes).length;
  }

  private void write(ConsumerRecord record) {
    row.reset();
    row.zeroOutNullBytes();
    for (int i = 0; i < columns.length; i++) {
      switch (columns[i]) {
        case KEY:
          bytes(i, (byte[]) record.key());
          break;
        case VALUE:
          bytes(i, (byte[]) record.value());
          break;
        case TOPIC:
          row.write(i, topic);
          break;
        case PARTITION:
          row.write(i, record.partition());
          break;
        case OFFSET:
          row.write(i, record.offset());
          break;
        case TIMESTAMP:
          row.write(i, DateTimeUtils$.MODULE$.fromJavaTimestamp(new Timestamp(record.timestamp())));
          break;
        default:
          row.write(i, record.timestampType().id);
      }
    }
  }

  private void bytes(int column, byte[] found) {
    if (found == null) {
      row.setNullAt(column);
    } else {
      row.write(column, found);
    }
  }
}
