package anabranch;

import org.apache.spark.TaskContext;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.TaskCompletionListener;

/**
 * A filter that is true for every record and passes it through the client's meter, for reads by Spark's own source. Spark
 * evaluates it once for each record, right after the read, because it is not deterministic.
 */
public final class Metered implements UnboundFunction, ScalarFunction<Boolean> {
  private final String client;
  private final String slice;
  /** Of the task: each has a copy of this function. */
  private transient ReadTap tap;

  public Metered(String client, String slice) {
    this.client = client;
    this.slice = slice;
  }

  public boolean invoke(long size) {
    if (tap == null) {
      tap = opened();
    }
    tap.passed(size);
    return true;
  }

  private ReadTap opened() {
    final ReadTap made = new ReadTap(client, slice);
    TaskContext task = TaskContext.get();
    if (task != null) {
      task.addTaskCompletionListener(
          new TaskCompletionListener() {
            public void onTaskCompletion(TaskContext done) {
              made.close();
            }
          });
    }
    return made;
  }

  public BoundFunction bind(StructType given) {
    return this;
  }

  public String description() {
    return name();
  }

  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.LongType};
  }

  public DataType resultType() {
    return DataTypes.BooleanType;
  }

  public boolean isResultNullable() {
    return false;
  }

  public boolean isDeterministic() {
    return false;
  }

  public String name() {
    return "metered";
  }
}
