package anabranch;

import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.types.StructType;

/**
 * Spark's read of a topic with some of its columns. Spark's own makes all of them for every record, whoever asks; what is read,
 * where and by which consumers is as Spark says.
 */
final class SliceScan implements Scan, Batch {
  private final Scan whole;
  private final StructType columns;

  SliceScan(Scan whole, StructType columns) {
    this.whole = whole;
    this.columns = columns;
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
    return new Readers(columns.fieldNames());
  }

  private static final class Readers implements PartitionReaderFactory {
    private final String[] columns;

    Readers(String[] columns) {
      this.columns = columns;
    }

    public PartitionReader createReader(InputPartition partition) {
      return new SliceReader((KafkaBatchInputPartition) partition, columns);
    }
  }
}
