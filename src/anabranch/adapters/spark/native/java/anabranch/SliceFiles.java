package anabranch;

import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Table;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** Files that a task has made, which are nobody's until they are committed. */
final class SliceFiles implements WriterCommitMessage {
  private final ArrayList files;

  SliceFiles(List files) {
    this.files = new ArrayList(files);
  }

  List files() {
    return files;
  }

  void drop(Table table) {
    for (Object file : files) {
      table.io().deleteFile(((DataFile) file).location());
    }
  }
}
