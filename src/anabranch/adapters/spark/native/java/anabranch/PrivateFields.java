package anabranch;

import java.lang.reflect.Field;

/** Private fields of Iceberg's classes. They are known for the one version that the native writer was built for. */
final class PrivateFields {
  private PrivateFields() {}

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
