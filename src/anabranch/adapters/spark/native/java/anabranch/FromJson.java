package anabranch;

import java.time.ZoneId;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JsonToStructs;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Some;
import scala.collection.immutable.HashMap;
import scala.collection.immutable.Map;

/**
 * Spark's own `from_json`, called from generated code. As an expression of its own it would not be part of that, and every
 * row would be copied before it and after it, even where there is nothing to parse.
 */
public final class FromJson extends JsonFunction {
  private final JsonToStructs parser;

  public FromJson(StructType schema, ZoneId zone) {
    super(DataTypes.StringType, schema, zone);
    Map options = new HashMap();
    options = (Map) options.updated("mode", "PERMISSIVE");
    options = (Map) options.updated("columnNameOfCorruptRecord", "bad");
    // JSON as its standard has it. Spark would take single quotes and NaN, which no other reader of the topic takes.
    options = (Map) options.updated("allowSingleQuotes", "false");
    options = (Map) options.updated("allowNonNumericNumbers", "false");
    options = (Map) options.updated("timeZone", zone.getId());
    BoundReference text = new BoundReference(0, DataTypes.StringType, true);
    this.parser = new JsonToStructs(schema, options, text, new Some(zone.getId()), false);
  }

  public InternalRow invoke(UTF8String text) {
    if (text == null) {
      return null; // nearly always: the quick way has decoded it
    }
    return (InternalRow) parser.eval(new GenericInternalRow(new Object[] {text}));
  }
}
