package anabranch;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.FileRewriteCoordinator;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.sql.connector.write.LogicalWriteInfoImpl;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Files by Iceberg's own writer, as a rewrite of files is written: it keeps them for whoever asks by the rewrite's id. */
final class GivenBack implements MadeFiles {
  private static final String REWRITE = "rewritten-file-scan-task-set-id";

  private final Table table;
  private final String rewrite = UUID.randomUUID().toString();
  private final Write write;

  GivenBack(SparkTable into, Map options, StructType rows) {
    this.table = into.table();
    Map asked = new HashMap(options);
    asked.put(REWRITE, rewrite);
    this.write =
        into.newWriteBuilder(
                new LogicalWriteInfoImpl(
                    rewrite, rows, new CaseInsensitiveStringMap(asked), Optional.empty(), Optional.empty()))
            .build();
  }

  public Write write() {
    return write;
  }

  public Collection files() {
    try {
      return FileRewriteCoordinator.get().fetchNewFiles(table, rewrite);
    } finally {
      FileRewriteCoordinator.get().clearRewrite(table, rewrite);
    }
  }
}
