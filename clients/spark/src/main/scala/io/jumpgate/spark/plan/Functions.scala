package io.jumpgate.spark.plan

import io.jumpgate.dataflow.{DataType => JumpgateType, Expression => Request, ScalarFunction, SqlFunctions}
import java.util.regex.Pattern
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Functions of which Spark and dataflows have the same values; with literals where only these make sure of it. */
private final class Functions(in: Expression => Value) {
  /** None: there is no counterpart. */
  def apply(expression: Expression): Option[Value] =
    text(expression).orElse(digest(expression)).orElse(hash(expression)).orElse(new Times(in)(expression)).orElse(new Numbers(in)(expression))

  private def text(expression: Expression): Option[Value] = Option(expression match {
    case StringLPad(s, NotNegative(n), Text(fill)) if fill.nonEmpty => ScalarFunction.LPAD.of(in(s), Values.long(n), Request.string(fill))
    case StringRPad(s, NotNegative(n), Text(fill)) if fill.nonEmpty => ScalarFunction.RPAD.of(in(s), Values.long(n), Request.string(fill))
    case StringRepeat(s, NotNegative(n)) => ScalarFunction.REPEAT.of(in(s), Values.long(n))
    case Reverse(s) if s.dataType == StringType => ScalarFunction.REVERSE.of(in(s))
    case StringReplace(s, Text(old), by) if old.nonEmpty => ScalarFunction.REPLACE.of(in(s), Request.string(old), in(by))
    case StringTranslate(s, Text(old), Text(by)) => ScalarFunction.TRANSLATE.of(in(s), Request.string(old), Request.string(by))
    case ConcatWs(separator +: texts) if texts.nonEmpty && texts.forall(_.dataType == StringType) =>
      ScalarFunction.CONCAT_WS.of(in(separator) +: texts.map(in): _*)
    case StringInstr(s, Text(part)) if part.nonEmpty => number(ScalarFunction.POSITION, in(s), Request.string(part))
    case StringLocate(Text(part), s, Literal(1, _)) if part.nonEmpty => number(ScalarFunction.POSITION, in(s), Request.string(part))
    case Ascii(s) => number(ScalarFunction.ASCII, in(s))
    case OctetLength(s) if s.dataType == StringType => number(ScalarFunction.OCTET_LENGTH, in(s))
    case RLike(s, Text(pattern)) =>
      JavaPatterns.translated(pattern).map(p => ScalarFunction.REGEXP_LIKE.of(in(s), Request.string(p.text))).orNull
    case RegExpReplace(s, Text(pattern), Text(by), Literal(1, _)) =>
      Functions.replaced(pattern, by).map(p => ScalarFunction.REGEXP_REPLACE_ALL.of(in(s), Request.string(p), Request.string(by))).orNull
    case RegExpExtract(s, Text(pattern), Literal(group: Int, _)) =>
      JavaPatterns.extracted(pattern, group).map { case Extracted(p, before, after) =>
        val found = ScalarFunction.REGEXP_EXTRACT.of(in(s), Request.string(p.text))
        val rest = if (before == 0) found else ScalarFunction.RIGHT.of(found, Values.long(-before.toLong))
        if (after == 0) rest else ScalarFunction.LEFT.of(rest, Values.long(-after.toLong))
      }.orElse(JavaGroups.extracted(pattern, group).map(grouped(in(s), _))).orNull
    case GetArrayItem(StringSplit(s, Text(pattern), Literal(limit: Int, _)), Literal(i: Int, _), fails) if limit <= 0 && s.dataType == StringType =>
      Functions.separator(pattern).filter(SqlFunctions.isPart(_, i + 1L)).map(part(in(s), _, i + 1L, fails)).orNull
    case SubstringIndex(s, Text(separator), Literal(1, _)) if separator.nonEmpty => side(s, separator, 1)
    // several characters may be found otherwise from the end
    case SubstringIndex(s, Text(separator), Literal(-1, _)) if separator.length == 1 => side(s, separator, -1)
    // of a column of type char(n)
    case e: StaticInvoke if e.functionName == "readSidePadding" =>
      e.arguments match {
        case Seq(s, NotNegative(n)) if s.dataType == StringType =>
          val isShort = ScalarFunction.LT.of(ScalarFunction.CHAR_LENGTH.of(in(s)), Values.long(n))
          Values.caseWhen(Seq((isShort, ScalarFunction.RPAD.of(in(s), Values.long(n), Request.string(" ")))), in(s))
        case _ => null
      }
    case e: ElementAt =>
      (e.left, e.right, e.defaultValueOutOfBound) match {
        case (StringSplitSQL(s, Text(separator)), Literal(n: Int, _), Some(Text(""))) if separator.nonEmpty && n != 0 && s.dataType == StringType =>
          ScalarFunction.SPLIT_PART.of(in(s), Request.string(separator), Values.long(n.toLong))
        case _ => null
      }
    case _ => null
  })

  private def digest(expression: Expression): Option[Value] = expression match {
    case Md5(Bytes(data)) => Some(ScalarFunction.MD5.of(in(data)))
    case Sha1(Bytes(data)) => Some(ScalarFunction.SHA1.of(in(data)))
    case Sha2(Bytes(data), Literal(0 | 256, _)) => Some(ScalarFunction.SHA256.of(in(data)))
    case _ => None
  }

  /** Of each value the hash is the next one's seed; a NULL changes none. */
  private def hash(expression: Expression): Option[Value] = {
    def all(values: Seq[Expression], function: ScalarFunction, seed: Value): Option[Value] = {
      val hashed = values.flatMap(hashable)
      if (values.isEmpty || values.size > Functions.HashedMax || hashed.size < values.size) None
      else Some(hashed.foldLeft(seed)((before, value) => ScalarFunction.COALESCE.of(function.of(value, before), before)))
    }
    expression match {
      case XxHash64(values, seed) => all(values, ScalarFunction.XXHASH64, Values.long(seed))
      case Murmur3Hash(values, seed) => all(values, ScalarFunction.MURMUR3, Values.integer(seed))
      case _ => None
    }
  }

  /** A value of the bytes that Spark hashes. */
  private def hashable(e: Expression): Option[Value] = e.dataType match {
    case BinaryType => Bytes.unapply(e).map(in)
    case StringType | IntegerType | LongType => Some(in(e))
    case ByteType | ShortType => Some(Values.cast(in(e), JumpgateType.INT32))
    case DateType => Some(number(ScalarFunction.DAYS_BETWEEN, in(e), Request.date(0)))
    case BooleanType =>
      val value = in(e)
      Some(Values.caseWhen(
        Seq((value, Values.integer(1)), (ScalarFunction.NOT.of(value), Values.integer(0))), Request.nullOf(JumpgateType.INT32)))
    case d: DecimalType if d.precision <= Functions.LongDigits => Some(ExpressionTranslator.unscaled(in(e), d))
    case _ => None
  }

  /** Of a text, or an error or NULL where it has fewer parts. */
  private def part(text: Value, separator: String, n: Long, fails: Boolean): Value = {
    val found = SqlFunctions.splitPart(text, separator, n)
    if (!fails || n == 1) found
    else {
      val isMissing = ScalarFunction.AND.of(ScalarFunction.IS_NULL.of(found), ScalarFunction.IS_NOT_NULL.of(text))
      Values.caseWhen(Seq((isMissing, Values.cast(TextCasts.failing(text, JumpgateType.INT64), JumpgateType.STRING))), found)
    }
  }

  /** A group's text: what is left of a match without what comes before, as far as the group takes it. */
  private def grouped(text: Value, of: Grouped): Value = {
    def extracted(from: Value, pattern: JavaPattern) = ScalarFunction.REGEXP_EXTRACT.of(from, Request.string(pattern.text))
    val found = extracted(text, of.whole)
    val rest = of.before.fold(found) { before =>
      val start = ScalarFunction.ADD.of(ScalarFunction.CHAR_LENGTH.of(extracted(found, before)), Values.long(1))
      ScalarFunction.SUBSTRING.of(found, start)
    }
    extracted(rest, of.group)
  }

  private def side(text: Expression, separator: String, n: Long): Value =
    ScalarFunction.SPLIT_PART.of(in(text), Request.string(separator), Values.long(n))

  private def number(function: ScalarFunction, arguments: Value*): Value = Values.cast(function.of(arguments: _*), JumpgateType.INT32)
}

private object Functions {
  /** Values of one hash: each is in the request as often as there are values after it. */
  private val HashedMax = 8

  /** Of decimals whose digits a long holds. */
  private val LongDigits = 18

  /** A pattern whose matches are replaced alike: Java finds an empty one also behind another one. */
  private def replaced(pattern: String, by: String): Option[String] =
    JavaPatterns.translated(pattern)
      .filter(p => !p.hasEnd && !Pattern.compile(pattern).matcher("").find() && !by.exists("$\\".contains(_)))
      .map(_.text)

  /** The text that a pattern of nothing else means. */
  def separator(pattern: String): Option[String] = {
    val plain = pattern.replaceAll("\\\\([^A-Za-z0-9])", "$1")
    if (pattern.matches("([^\\\\^$.|?*+()\\[\\]{}]|\\\\[^A-Za-z0-9])+")) Some(plain) else None
  }
}

/** A text that is a literal. */
private object Text {
  def unapply(e: Expression): Option[String] = e match {
    case Literal(text: UTF8String, _) => Some(text.toString)
    case _ => None
  }
}

/** A literal that counts. */
private object NotNegative {
  def unapply(e: Expression): Option[Long] = e match {
    case Literal(n: Int, _) if n >= 0 => Some(n.toLong)
    case _ => None
  }
}

/** The bytes of a text, or of a binary column. */
private object Bytes {
  def unapply(e: Expression): Option[Expression] = e match {
    case c: Cast if c.dataType == BinaryType && c.child.dataType == StringType => Some(c.child)
    case other if other.dataType == BinaryType => Some(other)
    case _ => None
  }
}
