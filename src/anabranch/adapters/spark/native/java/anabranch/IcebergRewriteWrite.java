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

/**
 * Uncommitted files by Iceberg's own writer, written as a rewrite of files is: the rewrite coordinator keeps them under the
 * rewrite's id instead of committing them.
 */
final class IcebergRewriteWrite implements UncommittedFiles {
  private static final String REWRITE = "rewritten-file-scan-task-set-id";

  private final Table table;
  private final String rewrite = UUID.randomUUID().toString();
  private final Write write;

  IcebergRewriteWrite(SparkTable into, Map options, StructType rows) {
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
