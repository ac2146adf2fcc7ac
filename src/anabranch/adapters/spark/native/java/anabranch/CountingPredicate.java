package anabranch;

import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Counts the rows that it is evaluated for, and is true of all of them: as a filter it counts what passes. Declared not
 * deterministic, so that Spark evaluates it once for each row and moves it nowhere else.
 */
public final class CountingPredicate implements UnboundFunction, ScalarFunction<Boolean> {
  private final RecordCounter counter;

  public CountingPredicate(RecordCounter counter) {
    this.counter = counter;
  }

  RecordCounter counter() {
    return counter;
  }

  public boolean invoke(long number, long amount) {
    counter.count(number, amount);
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
