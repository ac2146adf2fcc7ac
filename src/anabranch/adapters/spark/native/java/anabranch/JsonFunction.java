package anabranch;

import java.time.ZoneId;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * A function of one argument that gives a struct. What Spark calls from generated code is a method `invoke`, which it
 * finds by that name and the type of the argument.
 */
public abstract class JsonFunction implements UnboundFunction, ScalarFunction<InternalRow> {
  private final DataType argument;
  private final StructType schema;
  protected final ZoneId zone;

  protected JsonFunction(DataType argument, StructType schema, ZoneId zone) {
    this.argument = argument;
    this.schema = schema;
    this.zone = zone;
  }

  public BoundFunction bind(StructType given) {
    return this;
  }

  public String description() {
    return name();
  }

  public DataType[] inputTypes() {
    return new DataType[] {argument};
  }

  public DataType resultType() {
    return schema;
  }

  public String name() {
    return getClass().getSimpleName();
  }

  /** So that Spark sees when two plans are the same. */
  public boolean equals(Object other) {
    return other != null
        && other.getClass() == getClass()
        && ((JsonFunction) other).schema.equals(schema)
        && ((JsonFunction) other).zone.equals(zone);
  }

  public int hashCode() {
    return schema.hashCode();
  }
}
