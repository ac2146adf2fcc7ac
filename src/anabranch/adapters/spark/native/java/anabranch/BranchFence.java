package anabranch;

import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.encryption.EncryptionManager;
import org.apache.iceberg.exceptions.CleanableFailure;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.LocationProvider;

/**
 * A table's operations that commit only while a branch exists.
 *
 * <p>Iceberg's append creates a missing branch from main's head, also when the branch was there at the first attempt
 * and a retry finds it gone. Every attempt commits against the metadata that it was made from, so a branch that is in
 * this metadata is there at the commit, or the commit fails and is made again from newer metadata.
 */
public final class BranchFence implements TableOperations {
  /** Nothing was sent to the catalog: Iceberg deletes the manifests that it wrote. */
  public static final class BranchGoneException extends RuntimeException implements CleanableFailure {
    BranchGoneException(String branch) {
      super("Branch " + branch + " is gone");
    }
  }

  private final TableOperations table;
  private final String branch;

  private BranchFence(TableOperations table, String branch) {
    this.table = table;
    this.branch = branch;
  }

  /** A fast append to the branch. Its commit throws BranchGoneException, and commits nothing, if there is none. */
  public static AppendFiles append(Table table, String branch) {
    TableOperations operations = ((HasTableOperations) table).operations();
    AppendFiles append = new BaseTable(new BranchFence(operations, branch), table.name()).newFastAppend();
    append.toBranch(branch);
    return append;
  }

  @Override
  public void commit(TableMetadata base, TableMetadata metadata) {
    if (base == null || base.ref(branch) == null) {
      throw new BranchGoneException(branch);
    }
    table.commit(base, metadata);
  }

  @Override
  public TableMetadata current() {
    return table.current();
  }

  @Override
  public TableMetadata refresh() {
    return table.refresh();
  }

  @Override
  public FileIO io() {
    return table.io();
  }

  @Override
  public EncryptionManager encryption() {
    return table.encryption();
  }

  @Override
  public String metadataFileLocation(String fileName) {
    return table.metadataFileLocation(fileName);
  }

  @Override
  public LocationProvider locationProvider() {
    return table.locationProvider();
  }

  @Override
  public TableOperations temp(TableMetadata uncommitted) {
    return table.temp(uncommitted);
  }

  @Override
  public long newSnapshotId() {
    return table.newSnapshotId();
  }

  @Override
  public boolean requireStrictCleanup() {
    return table.requireStrictCleanup();
  }
}
