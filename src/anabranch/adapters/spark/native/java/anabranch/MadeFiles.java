package anabranch;

import java.util.Collection;
import org.apache.spark.sql.connector.write.Write;

/** A write that leaves files which belong to no snapshot. */
interface MadeFiles {
  Write write();

  /** Iceberg's, when the write has been carried out. Asked once. */
  Collection files();
}
