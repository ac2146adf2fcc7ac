package anabranch;

import org.apache.spark.unsafe.types.UTF8String;

/**
 * A place in the bytes of a JSON value. It goes over plain JSON only: what is malformed, and what is well-formed and rare
 * (escapes, very long names and numbers, deep nesting), is not plain.
 */
final class Cursor {
  static final NotPlain NOT_PLAIN = new NotPlain();
  private static final int DEEPEST = 64;
  private static final int LONGEST_NUMBER = 64;
  private static final int LONGEST_TEXT = 1 << 20;

  final byte[] bytes;
  int at;

  /** Where the last text or number begins and ends, without its quotes. */
  int start;
  int end;

  /** Of the last number: where its point is, or -1; and whether it has an exponent. */
  int point;
  boolean exponent;

  private boolean beyondAscii;

  Cursor(byte[] bytes) {
    this.bytes = bytes;
  }

  /** The next byte that is no blank. */
  byte peek() {
    while (at < bytes.length) {
      byte each = bytes[at];
      if (each != ' ' && each != '\n' && each != '\r' && each != '\t') {
        return each;
      }
      at++;
    }
    throw NOT_PLAIN;
  }

  byte next() {
    byte each = peek();
    at++;
    return each;
  }

  void expect(char wanted) {
    if (next() != wanted) {
      throw NOT_PLAIN;
    }
  }

  /** Nothing but blanks is left, and all of it was UTF-8. */
  boolean wellEnded() {
    while (at < bytes.length) {
      byte each = bytes[at++];
      if (each != ' ' && each != '\n' && each != '\r' && each != '\t') {
        return false;
      }
    }
    return !beyondAscii || UTF8String.fromBytes(bytes).isValid();
  }

  void text() {
    expect('"');
    start = at;
    for (int i = at; i < bytes.length; i++) {
      byte each = bytes[i];
      if (each == '"') {
        end = i;
        at = i + 1;
        if (end - start > LONGEST_TEXT) {
          throw NOT_PLAIN;
        }
        return;
      }
      if (each < ' ') {
        if (each >= 0) {
          throw NOT_PLAIN;
        }
        beyondAscii = true;
      } else if (each == '\\') {
        throw NOT_PLAIN;
      }
    }
    throw NOT_PLAIN;
  }

  void number() {
    peek();
    start = at;
    point = -1;
    exponent = false;
    if (bytes[at] == '-') {
      at++;
    }
    int first = at;
    digits();
    if (bytes[first] == '0' && at > first + 1) {
      throw NOT_PLAIN;
    }
    if (is('.')) {
      point = at++;
      digits();
    }
    if (is('e') || is('E')) {
      exponent = true;
      at++;
      if (is('+') || is('-')) {
        at++;
      }
      digits();
    }
    end = at;
    if (end - start > LONGEST_NUMBER) {
      throw NOT_PLAIN;
    }
  }

  /** One at least. What comes behind is up to whoever reads on: only a comma, a blank or a bracket will do there. */
  private void digits() {
    int first = at;
    while (at < bytes.length && bytes[at] >= '0' && bytes[at] <= '9') {
      at++;
    }
    if (at == first) {
      throw NOT_PLAIN;
    }
  }

  private boolean is(char wanted) {
    return at < bytes.length && bytes[at] == wanted;
  }

  void word(String wanted) {
    peek();
    for (int i = 0; i < wanted.length(); i++) {
      if (!is(wanted.charAt(i))) {
        throw NOT_PLAIN;
      }
      at++;
    }
  }

  /** Over one value, whatever it is. */
  void skip(int depth) {
    if (depth > DEEPEST) {
      throw NOT_PLAIN;
    }
    switch (peek()) {
      case '"':
        text();
        return;
      case '{':
        at++;
        if (!closed('}')) {
          do {
            text();
            expect(':');
            skip(depth + 1);
          } while (more('}'));
        }
        return;
      case '[':
        at++;
        if (!closed(']')) {
          do {
            skip(depth + 1);
          } while (more(']'));
        }
        return;
      case 't':
        word("true");
        return;
      case 'f':
        word("false");
        return;
      case 'n':
        word("null");
        return;
      default:
        number();
    }
  }

  /** Whether what was just opened is closed at once. */
  boolean closed(char bracket) {
    if (peek() != bracket) {
      return false;
    }
    at++;
    return true;
  }

  /** After a value in brackets: whether another one comes. */
  boolean more(char bracket) {
    byte found = next();
    if (found != ',' && found != bracket) {
      throw NOT_PLAIN;
    }
    return found == ',';
  }

  /** No fault: the slow way decides. */
  static final class NotPlain extends RuntimeException {
    NotPlain() {
      super(null, null, false, false);
    }
  }
}
