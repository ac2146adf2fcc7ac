package anabranch;

/** ISO 8601 timestamps and dates, in UTC or with an offset from it, down to microseconds. */
final class Timestamps {
  private static final int[] DAYS = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

  private Timestamps() {}

  /** Microseconds since 1970 of `dddd-dd-ddTdd:dd:dd[.d…](Z|±dd:dd)`; without a zone only if `utc` is what is meant. */
  static long micros(byte[] bytes, int start, int end, boolean utc) {
    if (end - start < 19) {
      throw Cursor.NOT_PLAIN;
    }
    if (bytes[start + 10] != 'T' && bytes[start + 10] != ' ') {
      throw Cursor.NOT_PLAIN;
    }
    require(bytes, start + 13, ':');
    require(bytes, start + 16, ':');
    int hour = most(23, two(bytes, start + 11));
    int minute = most(59, two(bytes, start + 14));
    int second = most(59, two(bytes, start + 17));
    long seconds = day(bytes, start) * 86400L + hour * 3600 + minute * 60 + second;
    int at = start + 19;
    long micros = 0;
    if (at < end && bytes[at] == '.') {
      int first = ++at;
      long unit = 100000;
      while (at < end && bytes[at] >= '0' && bytes[at] <= '9') {
        micros += unit * (bytes[at++] - '0');
        unit /= 10;
      }
      if (at == first || at - first > 6) {
        throw Cursor.NOT_PLAIN;
      }
    }
    return (seconds - distance(bytes, at, end, utc)) * 1000000L + micros;
  }

  /** Days since 1970 of `dddd-dd-dd`. */
  static int day(byte[] bytes, int start) {
    require(bytes, start + 4, '-');
    require(bytes, start + 7, '-');
    int year = two(bytes, start) * 100 + two(bytes, start + 2);
    int month = two(bytes, start + 5);
    int day = two(bytes, start + 8);
    boolean leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (year == 0 || month == 0 || month > 12 || day == 0) {
      throw Cursor.NOT_PLAIN;
    }
    most(month == 2 && leap ? 29 : DAYS[month - 1], day);
    // Years begin in March here, so that the leap day is the last one of its year.
    int years = month > 2 ? year : year - 1;
    int sinceMarch = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    return years * 365 + years / 4 - years / 100 + years / 400 + sinceMarch - 719468;
  }

  /** Seconds by which the clock is ahead of UTC. */
  private static int distance(byte[] bytes, int at, int end, boolean utc) {
    if (at == end && utc || at + 1 == end && bytes[at] == 'Z') {
      return 0;
    }
    if (end - at != 6 || bytes[at] != '+' && bytes[at] != '-') {
      throw Cursor.NOT_PLAIN;
    }
    require(bytes, at + 3, ':');
    int seconds = most(17, two(bytes, at + 1)) * 3600 + most(59, two(bytes, at + 4)) * 60;
    return bytes[at] == '-' ? -seconds : seconds;
  }

  private static void require(byte[] bytes, int at, char wanted) {
    if (bytes[at] != wanted) {
      throw Cursor.NOT_PLAIN;
    }
  }

  private static int two(byte[] bytes, int at) {
    return digit(bytes[at]) * 10 + digit(bytes[at + 1]);
  }

  private static int digit(byte each) {
    if (each < '0' || each > '9') {
      throw Cursor.NOT_PLAIN;
    }
    return each - '0';
  }

  private static int most(int largest, int found) {
    if (found > largest) {
      throw Cursor.NOT_PLAIN;
    }
    return found;
  }
}
