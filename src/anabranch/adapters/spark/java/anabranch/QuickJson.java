package anabranch;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.io.Serializable;
import java.math.BigDecimal;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.HashMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;

/**
 * The plain values of a topic, decoded from their bytes in one go. Whatever is not plain gives null, which means
 * "not sure" and not "bad": the slow way then decides. So all that this has to keep is that what it does give is what
 * the slow way would have given.
 */
public final class QuickJson extends JsonFunction {
  private static final JsonFactory FACTORY = new JsonFactory();
  private static final Object NOT_SURE = new Object();
  private static final int LARGEST_EXPONENT = 9999;

  private final Shape shape;

  public QuickJson(StructType schema, ZoneId zone) {
    super(DataTypes.BinaryType, schema, zone);
    this.shape = new Shape(schema);
  }

  public InternalRow invoke(byte[] value) {
    // A byte order mark, or another encoding than UTF-8, is not plain; the parser would take both.
    if (value == null || value.length < 2 || value[0] != '{' || value[1] == 0) {
      return null;
    }
    try {
      JsonParser parser = FACTORY.createParser(value, 0, value.length);
      try {
        parser.nextToken();
        Object row = struct(parser, shape);
        if (row == NOT_SURE || parser.nextToken() != null || !valid(value)) {
          return null;
        }
        return (InternalRow) row;
      } finally {
        parser.close();
      }
    } catch (IOException notJson) {
      return null;
    } catch (RuntimeException outOfRange) {
      return null;
    }
  }

  private Object struct(JsonParser parser, Shape of) throws IOException {
    Object[] values = new Object[of.fields.length];
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      Integer place = (Integer) of.places.get(parser.currentName());
      JsonToken token = parser.nextToken();
      if (place == null) {
        parser.skipChildren();
        continue;
      }
      // Of two fields with one name the last one counts, as it does the slow way.
      Object value = value(parser, token, of.fields[place.intValue()]);
      if (value == NOT_SURE) {
        return NOT_SURE;
      }
      values[place.intValue()] = value;
    }
    return parser.currentToken() == JsonToken.END_OBJECT ? new GenericInternalRow(values) : NOT_SURE;
  }

  private Object array(JsonParser parser, Shape of) throws IOException {
    ArrayList values = new ArrayList();
    for (JsonToken token = parser.nextToken(); token != JsonToken.END_ARRAY; token = parser.nextToken()) {
      Object value = value(parser, token, of.fields[0]);
      if (value == NOT_SURE) {
        return NOT_SURE;
      }
      values.add(value);
    }
    return new GenericArrayData((Object[]) values.toArray());
  }

  private Object value(JsonParser parser, JsonToken token, Shape of) throws IOException {
    if (token == null) {
      return NOT_SURE;
    }
    if (token == JsonToken.VALUE_NULL) {
      return null;
    }
    boolean whole = token == JsonToken.VALUE_NUMBER_INT;
    boolean number = whole || token == JsonToken.VALUE_NUMBER_FLOAT;
    boolean text = token == JsonToken.VALUE_STRING;
    switch (of.kind) {
      case Shape.STRING:
        return text ? (Object) UTF8String.fromString(parser.getText()) : NOT_SURE;
      case Shape.LONG:
        return whole ? (Object) Long.valueOf(parser.getLongValue()) : NOT_SURE;
      case Shape.INTEGER:
        return whole ? (Object) Integer.valueOf(parser.getIntValue()) : NOT_SURE;
      case Shape.BOOLEAN:
        return token == JsonToken.VALUE_TRUE || token == JsonToken.VALUE_FALSE
            ? (Object) Boolean.valueOf(parser.getBooleanValue())
            : NOT_SURE;
      case Shape.DOUBLE:
        double wide = number ? parser.getDoubleValue() : Double.POSITIVE_INFINITY;
        return Double.isInfinite(wide) ? NOT_SURE : (Object) Double.valueOf(wide);
      case Shape.DECIMAL:
        return number ? decimal(parser.getDecimalValue(), of) : NOT_SURE;
      case Shape.TIMESTAMP:
        return text ? moment(parser.getText(), true) : NOT_SURE;
      case Shape.DATE:
        return text ? moment(parser.getText(), false) : NOT_SURE;
      case Shape.ARRAY:
        return token == JsonToken.START_ARRAY ? array(parser, of) : NOT_SURE;
      default:
        return token == JsonToken.START_OBJECT ? struct(parser, of) : NOT_SURE;
    }
  }

  private static Object decimal(BigDecimal exact, Shape of) {
    // With a huge exponent, bringing it to the scale takes seconds: once is enough.
    return Math.abs((long) exact.scale()) > LARGEST_EXPONENT
        ? NOT_SURE
        : (Object) Decimal.apply(exact, of.precision, of.scale);
  }

  private Object moment(String text, boolean timestamp) {
    if (!Moments.plain(text, timestamp)) {
      return NOT_SURE;
    }
    UTF8String read = UTF8String.fromString(text);
    Option found = timestamp ? DateTimeUtils.stringToTimestamp(read, zone) : DateTimeUtils.stringToDate(read);
    return found.isEmpty() ? NOT_SURE : found.get();
  }

  private static boolean valid(byte[] value) {
    for (int i = 0; i < value.length; i++) {
      if (value[i] < 0) {
        return UTF8String.fromBytes(value).isValid();
      }
    }
    return true;
  }

  /** What to read where, worked out once. */
  static final class Shape implements Serializable {
    static final int STRING = 0;
    static final int LONG = 1;
    static final int INTEGER = 2;
    static final int BOOLEAN = 3;
    static final int DOUBLE = 4;
    static final int DECIMAL = 5;
    static final int TIMESTAMP = 6;
    static final int DATE = 7;
    static final int ARRAY = 8;
    static final int STRUCT = 9;

    final int kind;
    final Shape[] fields;
    final HashMap places = new HashMap();
    int precision;
    int scale;

    Shape(DataType type) {
      kind = kindOf(type);
      if (type instanceof DecimalType) {
        precision = ((DecimalType) type).precision();
        scale = ((DecimalType) type).scale();
      }
      if (type instanceof ArrayType) {
        fields = new Shape[] {new Shape(((ArrayType) type).elementType())};
      } else if (type instanceof StructType) {
        StructField[] given = ((StructType) type).fields();
        fields = new Shape[given.length];
        for (int i = 0; i < given.length; i++) {
          fields[i] = new Shape(given[i].dataType());
          places.put(given[i].name(), Integer.valueOf(i));
        }
      } else {
        fields = new Shape[0];
      }
    }

    private static int kindOf(DataType type) {
      if (type.equals(DataTypes.StringType)) return STRING;
      if (type.equals(DataTypes.LongType)) return LONG;
      if (type.equals(DataTypes.IntegerType)) return INTEGER;
      if (type.equals(DataTypes.BooleanType)) return BOOLEAN;
      if (type.equals(DataTypes.DoubleType)) return DOUBLE;
      if (type.equals(DataTypes.TimestampType)) return TIMESTAMP;
      if (type.equals(DataTypes.DateType)) return DATE;
      if (type instanceof DecimalType) return DECIMAL;
      if (type instanceof ArrayType) return ARRAY;
      if (type instanceof StructType) return STRUCT;
      throw new IllegalArgumentException("not read quickly: " + type);
    }
  }
}
