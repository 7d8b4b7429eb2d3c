package io.jumpgate.ntf;

import static org.objectweb.asm.Opcodes.ACC_FINAL;
import static org.objectweb.asm.Opcodes.ACC_PUBLIC;
import static org.objectweb.asm.Opcodes.ACC_SUPER;
import static org.objectweb.asm.Opcodes.ALOAD;
import static org.objectweb.asm.Opcodes.GOTO;
import static org.objectweb.asm.Opcodes.I2L;
import static org.objectweb.asm.Opcodes.IAND;
import static org.objectweb.asm.Opcodes.ICONST_0;
import static org.objectweb.asm.Opcodes.ICONST_1;
import static org.objectweb.asm.Opcodes.IFEQ;
import static org.objectweb.asm.Opcodes.INVOKEINTERFACE;
import static org.objectweb.asm.Opcodes.INVOKESPECIAL;
import static org.objectweb.asm.Opcodes.INVOKESTATIC;
import static org.objectweb.asm.Opcodes.LADD;
import static org.objectweb.asm.Opcodes.LLOAD;
import static org.objectweb.asm.Opcodes.RETURN;
import static org.objectweb.asm.Opcodes.V17;

import io.jumpgate.dataflow.DataType;
import java.lang.invoke.MethodHandles;
import java.nio.ByteOrder;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Type;

/**
 * Writes the class behind a {@link RowReader}: for each field a test of its null bit, if it has one, and the call that
 * hands its value on. Names of columns do not get into it.
 */
final class RowCodegen {
  private static final String MEMORY = Type.getInternalName(Memory.class);
  private static final String CONSUMER = Type.getInternalName(RowConsumer.class);
  private static final int TUPLE = 1;
  private static final int SECTION = 3;
  private static final int TARGET = 5;

  private final MethodVisitor code;
  private final RowLayout layout;
  private final String order;

  private RowCodegen(MethodVisitor code, RowLayout layout) {
    this.code = code;
    this.layout = layout;
    this.order = layout.descriptor().byteOrder() == ByteOrder.BIG_ENDIAN ? "Big" : "Little";
  }

  /** What reads fields {@code first} to {@code end}, which is not included. */
  static RowReader.Fields generate(RowLayout layout, int first, int end) {
    ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_FRAMES | ClassWriter.COMPUTE_MAXS);
    String name = RowReader.class.getPackageName().replace('.', '/') + "/GeneratedRowFields";
    writer.visit(V17, ACC_FINAL | ACC_SUPER, name, null, "java/lang/Object",
        new String[] {Type.getInternalName(RowReader.Fields.class)});
    MethodVisitor constructor = writer.visitMethod(0, "<init>", "()V", null, null);
    constructor.visitVarInsn(ALOAD, 0);
    constructor.visitMethodInsn(INVOKESPECIAL, "java/lang/Object", "<init>", "()V", false);
    constructor.visitInsn(RETURN);
    constructor.visitMaxs(0, 0);
    MethodVisitor read = writer.visitMethod(ACC_PUBLIC, "read", "(JJL" + CONSUMER + ";)V", null, null);
    RowCodegen codegen = new RowCodegen(read, layout);
    for (int field = first; field < end; field++) {
      codegen.field(field);
    }
    read.visitInsn(RETURN);
    read.visitMaxs(0, 0);
    writer.visitEnd();
    try {
      MethodHandles.Lookup generated = MethodHandles.lookup().defineHiddenClass(writer.toByteArray(), true);
      return (RowReader.Fields) generated.lookupClass().getDeclaredConstructor().newInstance();
    } catch (ReflectiveOperationException e) {
      throw new AssertionError("generated code that does not load", e);
    }
  }

  private void field(int field) {
    DataType type = layout.descriptor().fields().get(field).type();
    if (!type.nullable()) {
      value(field, type);
      return;
    }
    Label isValue = new Label();
    Label done = new Label();
    load("getByte", "B", field / 8);
    code.visitLdcInsn(1 << field % 8);
    code.visitInsn(IAND);
    code.visitJumpInsn(IFEQ, isValue);
    begin(field);
    hand("setNull", "");
    code.visitJumpInsn(GOTO, done);
    code.visitLabel(isValue);
    value(field, type);
    code.visitLabel(done);
  }

  private void value(int field, DataType type) {
    int at = layout.offset(field);
    begin(field);
    switch (type.kind()) {
      case BOOL -> {
        truth(at);
        hand("setBoolean", "Z");
      }
      case INT8 -> {
        load("getByte", "B", at);
        hand("setByte", "B");
      }
      case INT16 -> {
        load("getShort" + order, "S", at);
        hand("setShort", "S");
      }
      case INT32, DATE -> {
        load("getInt" + order, "I", at);
        hand("setInt", "I");
      }
      case FLOAT32 -> {
        load("getInt" + order, "I", at);
        code.visitMethodInsn(INVOKESTATIC, "java/lang/Float", "intBitsToFloat", "(I)F", false);
        hand("setFloat", "F");
      }
      case FLOAT64 -> {
        load("getLong" + order, "J", at);
        code.visitMethodInsn(INVOKESTATIC, "java/lang/Double", "longBitsToDouble", "(J)D", false);
        hand("setDouble", "D");
      }
      case DECIMAL -> decimal(at, type.width());
      case STRING, BINARY -> {
        code.visitVarInsn(LLOAD, SECTION);
        load("getInt" + order, "I", at);
        code.visitInsn(I2L); // a payload is shorter than an int says
        code.visitInsn(LADD);
        load("getInt" + order, "I", at + 4);
        hand("setText", "JI");
      }
      default -> {
        load("getLong" + order, "J", at);
        hand("setLong", "J");
      }
    }
  }

  private void decimal(int at, int width) {
    if (width == 8) {
      load("getLong" + order, "J", at);
      hand("setDecimal", "J");
      return;
    }
    boolean highFirst = layout.descriptor().byteOrder() == ByteOrder.BIG_ENDIAN;
    load("getLong" + order, "J", highFirst ? at : at + 8);
    load("getLong" + order, "J", highFirst ? at + 8 : at);
    hand("setDecimal", "JJ");
  }

  /** Any byte but 0 is taken for true. */
  private void truth(int at) {
    Label isFalse = new Label();
    Label done = new Label();
    load("getByte", "B", at);
    code.visitJumpInsn(IFEQ, isFalse);
    code.visitInsn(ICONST_1);
    code.visitJumpInsn(GOTO, done);
    code.visitLabel(isFalse);
    code.visitInsn(ICONST_0);
    code.visitLabel(done);
  }

  /** The consumer and the field's number, which every call starts with. */
  private void begin(int field) {
    code.visitVarInsn(ALOAD, TARGET);
    code.visitLdcInsn(field);
  }

  private void hand(String method, String values) {
    code.visitMethodInsn(INVOKEINTERFACE, CONSUMER, method, "(I" + values + ")V", true);
  }

  private void load(String method, String type, int at) {
    code.visitVarInsn(LLOAD, TUPLE);
    code.visitLdcInsn((long) at);
    code.visitInsn(LADD);
    code.visitMethodInsn(INVOKESTATIC, MEMORY, method, "(J)" + type, false);
  }
}
