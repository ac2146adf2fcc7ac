package anabranch;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.ZoneId;
import java.util.ArrayList;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Decodes plain JSON values from their bytes in one pass. Whatever is not plain gives null, which means "not sure" and not
 * "bad": `from_json` then decides. The one obligation: a value that is not null is the one that `from_json` gives.
 */
public final class FastJsonDecoder extends JsonFunction {
  private static final int MOST_DIGITS = 18;
  private static final long[] TENS = new long[MOST_DIGITS + 1];

  static {
    TENS[0] = 1;
    for (int i = 1; i <= MOST_DIGITS; i++) {
      TENS[i] = TENS[i - 1] * 10;
    }
  }

  private final DecodePlan plan;
  private final boolean utc;

  public FastJsonDecoder(StructType schema, ZoneId zone) {
    super(DataTypes.BinaryType, schema, zone);
    this.plan = new DecodePlan(schema);
    this.utc = zone.getId().equals("UTC") || zone.getId().equals("Z");
  }

  public InternalRow invoke(byte[] value) {
    if (value == null || value.length < 2 || value[0] != '{') {
      return null;
    }
    try {
      Cursor cursor = new Cursor(value);
      InternalRow row = struct(cursor, plan);
      return cursor.wellEnded() ? row : null;
    } catch (Cursor.NotPlain notPlain) {
      return null;
    } catch (ArithmeticException outOfRange) {
      return null;
    }
  }

  private InternalRow struct(Cursor cursor, DecodePlan of) {
    cursor.expect('{');
    Object[] values = new Object[of.fields.length];
    if (!cursor.closed('}')) {
      int usual = 0;
      do {
        cursor.text();
        int place = of.place(cursor, usual);
        cursor.expect(':');
        if (place < 0) {
          cursor.skip(0);
        } else {
          // Of two fields with one name the last one counts, as it does `from_json`.
          values[place] = value(cursor, of.fields[place]);
          usual = place + 1;
        }
      } while (cursor.more('}'));
    }
    return new GenericInternalRow(values);
  }

  private Object array(Cursor cursor, DecodePlan of) {
    cursor.expect('[');
    ArrayList values = new ArrayList();
    if (!cursor.closed(']')) {
      do {
        values.add(value(cursor, of.fields[0]));
      } while (cursor.more(']'));
    }
    return new GenericArrayData((Object[]) values.toArray());
  }

  private Object value(Cursor cursor, DecodePlan of) {
    byte first = cursor.peek();
    if (first == 'n') {
      cursor.word("null");
      return null;
    }
    switch (of.kind) {
      case DecodePlan.STRING:
        cursor.text();
        return UTF8String.fromBytes(cursor.bytes, cursor.start, cursor.end - cursor.start);
      case DecodePlan.LONG:
        return Long.valueOf(whole(cursor));
      case DecodePlan.INTEGER:
        return Integer.valueOf(Math.toIntExact(whole(cursor)));
      case DecodePlan.BOOLEAN:
        cursor.word(first == 't' ? "true" : "false");
        return Boolean.valueOf(first == 't');
      case DecodePlan.DOUBLE:
        return Double.valueOf(wide(cursor));
      case DecodePlan.DECIMAL:
        return decimal(cursor, of);
      case DecodePlan.TIMESTAMP:
        cursor.text();
        return Long.valueOf(Timestamps.micros(cursor.bytes, cursor.start, cursor.end, utc));
      case DecodePlan.DATE:
        cursor.text();
        if (cursor.end - cursor.start != 10) {
          throw Cursor.NOT_PLAIN;
        }
        return Integer.valueOf(Timestamps.day(cursor.bytes, cursor.start));
      case DecodePlan.ARRAY:
        return array(cursor, of);
      default:
        return struct(cursor, of);
    }
  }

  private static long whole(Cursor cursor) {
    cursor.number();
    if (cursor.point >= 0) {
      throw Cursor.NOT_PLAIN;
    }
    return unscaled(cursor);
  }

  private static double wide(Cursor cursor) {
    cursor.number();
    int length = cursor.end - cursor.start;
    double found = Double.parseDouble(new String(cursor.bytes, cursor.start, length, StandardCharsets.US_ASCII));
    if (Double.isInfinite(found)) {
      throw Cursor.NOT_PLAIN;
    }
    return found;
  }

  private static Decimal decimal(Cursor cursor, DecodePlan of) {
    cursor.number();
    long unscaled = unscaled(cursor);
    int scale = cursor.point < 0 ? 0 : cursor.end - cursor.point - 1;
    if (of.precision <= MOST_DIGITS) {
      long brought = brought(unscaled, of.scale - scale);
      if (Math.abs(brought) >= TENS[of.precision]) {
        throw Cursor.NOT_PLAIN;
      }
      return Decimal.createUnsafe(brought, of.precision, of.scale);
    }
    return Decimal.apply(BigDecimal.valueOf(unscaled, scale), of.precision, of.scale);
  }

  /** With so many digits more after the point; with fewer, rounded half up as Spark does it. */
  private static long brought(long unscaled, int digits) {
    if (digits >= 0) {
      return Math.multiplyExact(unscaled, TENS[digits]);
    }
    long unit = TENS[-digits];
    long rest = unscaled % unit;
    long half = Math.abs(rest) >= unit - Math.abs(rest) ? Long.signum(rest) : 0;
    return unscaled / unit + half;
  }

  /** The digits of the number without its point. */
  private static long unscaled(Cursor cursor) {
    if (cursor.exponent || cursor.end - cursor.start > MOST_DIGITS) {
      throw Cursor.NOT_PLAIN;
    }
    boolean negative = cursor.bytes[cursor.start] == '-';
    long found = 0;
    for (int i = negative ? cursor.start + 1 : cursor.start; i < cursor.end; i++) {
      if (i != cursor.point) {
        found = found * 10 + (cursor.bytes[i] - '0');
      }
    }
    return negative ? -found : found;
  }
}
