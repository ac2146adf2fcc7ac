package anabranch;

import java.lang.reflect.Field;

/** Fields of Iceberg's classes that are not for everybody. Our version of Iceberg is an exact one. */
final class Hidden {
  private Hidden() {}

  static Field field(String owner, String name) {
    try {
      Field found = Class.forName(owner).getDeclaredField(name);
      found.setAccessible(true);
      return found;
    } catch (ReflectiveOperationException gone) {
      throw new IllegalStateException("another version of Iceberg", gone);
    }
  }
}
