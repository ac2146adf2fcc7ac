package anabranch;

import java.util.Map;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.RegistryBasedFileWriterFactory;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.iceberg.spark.SparkWriteConf;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.types.StructType;

/** What a task needs to write its part of a slice: the table, and how it wants its files. */
final class SliceWriters implements DataWriterFactory {
  private final Broadcast table;
  private final String write;
  private final StructType rows;
  private final Schema columns;
  private final int spec;
  private final int order;
  private final long fileSize;
  private final Map properties;

  SliceWriters(Table table, Broadcast sent, SparkWriteConf asked, StructType rows, String write) {
    this.table = sent;
    this.write = write;
    this.rows = rows;
    this.columns = SparkSchemaUtil.convert(table.schema(), rows);
    this.spec = asked.outputSpecId();
    this.order = asked.outputSortOrderId(asked.writeRequirements());
    this.fileSize = asked.targetDataFileSize();
    this.properties = asked.writeProperties();
  }

  public DataWriter createWriter(int partition, long task) {
    Table into = (Table) table.value();
    PartitionSpec by = (PartitionSpec) into.specs().get(Integer.valueOf(spec));
    OutputFileFactory files =
        OutputFileFactory.builderFor(into, partition, task).format(FileFormat.PARQUET).operationId(write).build();
    SortOrder sorted = (SortOrder) into.sortOrders().get(Integer.valueOf(order));
    return new PeriodWriter(
        into,
        by,
        columns,
        files,
        new Parquet(into, columns, sorted, properties, rows),
        fileSize,
        rows,
        OpenFiles.most(rows, Runtime.getRuntime()));
  }

  private static final class Parquet extends RegistryBasedFileWriterFactory {
    Parquet(Table table, Schema columns, SortOrder sorted, Map properties, StructType rows) {
      super(
          table,
          FileFormat.PARQUET,
          UnsafeRowParquetWriter.KIND,
          columns,
          sorted,
          FileFormat.PARQUET,
          null,
          null,
          null,
          properties,
          rows,
          null);
    }
  }
}
