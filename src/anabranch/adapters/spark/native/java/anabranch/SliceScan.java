package anabranch;

import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.types.StructType;

/**
 * Spark's read of a topic, metered, and with some of its columns where our reader can make those. Spark's own makes all of them
 * for every record, whoever asks; what is read, where and by which consumers is as Spark says.
 */
final class SliceScan implements Scan, Batch {
  private final Scan whole;
  private final StructType columns;
  private final boolean ours;
  private final String client;
  private final String slice;

  SliceScan(Scan whole, StructType columns, boolean ours, String client, String slice) {
    this.whole = whole;
    this.columns = columns;
    this.ours = ours;
    this.client = client;
    this.slice = slice;
  }

  public StructType readSchema() {
    return columns;
  }

  public String description() {
    return whole.description();
  }

  public Batch toBatch() {
    return this;
  }

  public InputPartition[] planInputPartitions() {
    return whole.toBatch().planInputPartitions();
  }

  public PartitionReaderFactory createReaderFactory() {
    return new Readers(ours ? null : whole.toBatch().createReaderFactory(), columns.fieldNames(), client, slice);
  }

  private static final class Readers implements PartitionReaderFactory {
    private final PartitionReaderFactory whole;
    private final String[] columns;
    private final String client;
    private final String slice;

    /** `whole` is Spark's own factory, or null if our reader makes the columns. */
    Readers(PartitionReaderFactory whole, String[] columns, String client, String slice) {
      this.whole = whole;
      this.columns = columns;
      this.client = client;
      this.slice = slice;
    }

    public PartitionReader createReader(InputPartition partition) {
      ReadTap tap = new ReadTap(client, slice);
      return whole == null
          ? (PartitionReader) new SliceReader((KafkaBatchInputPartition) partition, columns, tap)
          : (PartitionReader) new MeteredReader(whole.createReader(partition), tap);
    }
  }
}
