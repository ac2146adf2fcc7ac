package anabranch;

/** The form of a moment: a date, or a date with a time and perhaps a zone, as ISO 8601 writes them. */
final class Moments {
  private Moments() {}

  static boolean plain(String text, boolean timestamp) {
    int length = text.length();
    if (!timestamp) {
      return length == 10 && shaped(text, 0, "dddd-dd-dd") && !text.startsWith("0000");
    }
    if (length < 19 || text.startsWith("0000") || !shaped(text, 0, "dddd-dd-dd") || !shaped(text, 11, "dd:dd:dd")) {
      return false;
    }
    if (text.charAt(10) != 'T' && text.charAt(10) != ' ') {
      return false;
    }
    int at = 19;
    if (at < length && text.charAt(at) == '.') {
      at++;
      int first = at;
      while (at < length && digit(text.charAt(at))) {
        at++;
      }
      if (at == first || at - first > 9) {
        return false;
      }
    }
    return at == length || zone(text, at);
  }

  private static boolean zone(String text, int at) {
    int rest = text.length() - at;
    char sign = text.charAt(at);
    if (sign == 'Z') {
      return rest == 1;
    }
    return (sign == '+' || sign == '-')
        && (rest == 6 && shaped(text, at + 1, "dd:dd") || rest == 5 && shaped(text, at + 1, "dddd"));
  }

  /** Where the form has a `d` the text has a digit, and elsewhere what the form has. */
  private static boolean shaped(String text, int at, String form) {
    if (at + form.length() > text.length()) {
      return false;
    }
    for (int i = 0; i < form.length(); i++) {
      char wanted = form.charAt(i);
      char found = text.charAt(at + i);
      if (wanted == 'd' ? !digit(found) : wanted != found) {
        return false;
      }
    }
    return true;
  }

  private static boolean digit(char each) {
    return each >= '0' && each <= '9';
  }
}
