package anabranch;

import java.util.Collection;
import org.apache.spark.sql.connector.write.Write;

/** A write whose data files belong to no snapshot. */
interface UncommittedFiles {
  Write write();

  /** Iceberg's data files, once the write is done. Called once. */
  Collection files();
}
