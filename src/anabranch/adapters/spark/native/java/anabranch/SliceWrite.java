package anabranch;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.SparkWriteConf;
import org.apache.iceberg.spark.source.SerializableTableWithSize;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;

/** Writes a slice's data files into the table's folder. They belong to no snapshot until the caller commits them. */
final class SliceWrite implements UncommittedFiles, Write, BatchWrite {
  private final SparkSession session;
  private final Table table;
  private final SparkWriteConf asked;
  private final StructType rows;
  private final List files = new ArrayList();

  SliceWrite(SparkSession session, Table table, Map options, StructType rows) {
    this.session = session;
    this.table = table;
    this.asked = new SparkWriteConf(session, table, options);
    this.rows = rows;
  }

  /** Whether this writer can write the table: Parquet, partitioned by hours or days alone. Iceberg's writes all others. */
  boolean suits() {
    PartitionSpec spec = (PartitionSpec) table.specs().get(Integer.valueOf(asked.outputSpecId()));
    return asked.dataFileFormat() == FileFormat.PARQUET && PeriodWriter.periodOf(spec) > 0;
  }

  public Write write() {
    return this;
  }

  public Collection files() {
    return files;
  }

  public String description() {
    return "files of a slice";
  }

  public BatchWrite toBatch() {
    return this;
  }

  public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
    Table sent = SerializableTableWithSize.copyOf(table);
    return new SliceWriters(
        table, new JavaSparkContext(session.sparkContext()).broadcast(sent), asked, rows, UUID.randomUUID().toString());
  }

  public void commit(WriterCommitMessage[] tasks) {
    for (int i = 0; i < tasks.length; i++) {
      files.addAll(((SliceFiles) tasks[i]).files());
    }
  }

  public void abort(WriterCommitMessage[] tasks) {
    for (int i = 0; i < tasks.length; i++) {
      if (tasks[i] != null) {
        ((SliceFiles) tasks[i]).drop(table);
      }
    }
  }
}
