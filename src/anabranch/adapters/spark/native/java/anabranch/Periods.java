package anabranch;

import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import scala.Function1;
import scala.Option;
import scala.runtime.AbstractPartialFunction;

/**
 * Hours and days of moments, by a division. Rows are brought together by them before they are written, and Iceberg's own
 * functions go by calendars to get there. Which partition a row belongs to is still worked out by Iceberg when it is written.
 */
public final class Periods {
  private static final String FUNCTIONS = "org.apache.iceberg.spark.functions.";
  private static final long HOUR = 3600000000L;
  private static final long DAY = 24 * HOUR;

  private Periods() {}

  public static int hours(long micros) {
    return (int) Math.floorDiv(micros, HOUR);
  }

  public static int days(long micros) {
    return (int) Math.floorDiv(micros, DAY);
  }

  /** By its name among Iceberg's transforms; 0 if it is not one of ours. */
  static long lengthOf(String transform) {
    if (transform.equals("hour")) {
      return HOUR;
    }
    return transform.equals("day") ? DAY : 0;
  }

  /** Whose place one of ours takes, or null. */
  static String insteadOf(Object expression) {
    if (!(expression instanceof StaticInvoke)) {
      return null;
    }
    String function = ((StaticInvoke) expression).staticObject().getName();
    if (function.equals(FUNCTIONS + "HoursFunction$TimestampToHoursFunction")) {
      return "hours";
    }
    return function.equals(FUNCTIONS + "DaysFunction$TimestampToDaysFunction") ? "days" : null;
  }

  /** Puts ours in the place of Iceberg's. */
  static AbstractPartialFunction quick() {
    return new AbstractPartialFunction() {
      public boolean isDefinedAt(Object expression) {
        return insteadOf(expression) != null;
      }

      public Object applyOrElse(Object expression, Function1 otherwise) {
        String ours = insteadOf(expression);
        if (ours == null) {
          return otherwise.apply(expression);
        }
        StaticInvoke theirs = (StaticInvoke) expression;
        return new StaticInvoke(
            Periods.class,
            theirs.dataType(),
            ours,
            theirs.arguments(),
            theirs.inputTypes(),
            theirs.propagateNull(),
            theirs.returnNullable(),
            theirs.isDeterministic(),
            Option.empty());
      }
    };
  }
}
