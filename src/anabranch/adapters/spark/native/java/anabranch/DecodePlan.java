package anabranch;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** How each field of a schema is decoded, derived from the schema once. */
final class DecodePlan implements Serializable {
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

  private static final int FEW = 16;

  final int kind;
  final DecodePlan[] fields;
  private final byte[][] names;
  private final HashMap places = new HashMap();
  int precision;
  int scale;

  DecodePlan(DataType type) {
    kind = kindOf(type);
    if (type instanceof DecimalType) {
      precision = ((DecimalType) type).precision();
      scale = ((DecimalType) type).scale();
    }
    if (type instanceof ArrayType) {
      fields = new DecodePlan[] {new DecodePlan(((ArrayType) type).elementType())};
      names = new byte[0][];
    } else if (type instanceof StructType) {
      StructField[] given = ((StructType) type).fields();
      fields = new DecodePlan[given.length];
      names = new byte[given.length][];
      for (int i = 0; i < given.length; i++) {
        fields[i] = new DecodePlan(given[i].dataType());
        names[i] = given[i].name().getBytes(StandardCharsets.UTF_8);
        places.put(given[i].name(), Integer.valueOf(i));
      }
    } else {
      fields = new DecodePlan[0];
      names = new byte[0][];
    }
  }

  /** Of the field whose name the cursor has just gone over, or -1. Most often it is the one after the last one. */
  int place(Cursor cursor, int usual) {
    if (usual < names.length && named(cursor, usual)) {
      return usual;
    }
    if (names.length > FEW) {
      String name = new String(cursor.bytes, cursor.start, cursor.end - cursor.start, StandardCharsets.UTF_8);
      Integer found = (Integer) places.get(name);
      return found == null ? -1 : found.intValue();
    }
    for (int i = 0; i < names.length; i++) {
      if (named(cursor, i)) {
        return i;
      }
    }
    return -1;
  }

  private boolean named(Cursor cursor, int place) {
    return Arrays.equals(cursor.bytes, cursor.start, cursor.end, names[place], 0, names[place].length);
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
    throw new IllegalArgumentException("no fast decoding of " + type);
  }
}
