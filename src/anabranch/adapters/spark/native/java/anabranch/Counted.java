package anabranch;

import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Counts the rows that it is asked about, and is true of all of them: as a filter it stands where rows pass by. It is not
 * deterministic to Spark, which therefore asks once for each row, there and nowhere else.
 */
public final class Counted implements UnboundFunction, ScalarFunction<Boolean> {
  private final Tally tally;

  public Counted(Tally tally) {
    this.tally = tally;
  }

  Tally tally() {
    return tally;
  }

  public boolean invoke(long number, long amount) {
    tally.count(number, amount);
    return true;
  }

  public BoundFunction bind(StructType given) {
    return this;
  }

  public String description() {
    return name();
  }

  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.LongType, DataTypes.LongType};
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
    return "counted";
  }
}
