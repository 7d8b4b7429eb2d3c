package io.jumpgate.spark.plan

import io.jumpgate.spark.Settings
import io.jumpgate.v1.{Dataflow, StoreCredentials}
import io.jumpgate.{ErrorCode, JumpgateException}
import java.io.IOException
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.io.Text
import org.apache.hadoop.net.NetUtils
import org.apache.hadoop.security.{SecurityUtil, UserGroupInformation}
import org.apache.spark.sql.jumpgate.Shims.SparkSession
import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Try

/**
 * What a session's user reads stores with, for the service to read them as this user: keys and tokens in the session's configuration of
 * Hadoop, and delegation tokens of `user`. None where [[Settings.Rights]] leaves that to the service. They are not kept.
 */
private[spark] final class Rights(session: SparkSession, user: UserGroupInformation = UserGroupInformation.getCurrentUser) {
  private val areBrought = Settings.areUsers(session.sessionState.conf)
  private lazy val conf = session.sessionState.newHadoopConf()
  private val found = mutable.Map.empty[String, Either[String, StoreCredentials]]

  /** Why an object, by Jumpgate's name of it, cannot be read so. */
  def against(name: String): Option[String] = if (areBrought) of(name).left.toOption else None

  /** Of all objects that a dataflow reads. Raises `forbidden` where one is lacking. */
  def of(dataflow: Dataflow): Seq[StoreCredentials] =
    if (!areBrought) Nil
    else {
      val names = dataflow.getOperatorsList.asScala.filter(_.hasRead).flatMap(_.getRead.getFilesList.asScala)
      val stores = names.map(Rights.store).distinct.filter(store => Rights.Schemes.contains(Rights.scheme(store)))
      stores.map(of(_).fold(why => throw new JumpgateException(ErrorCode.FORBIDDEN, why), identity)).toSeq
    }

  private def of(name: String): Either[String, StoreCredentials] = {
    val store = Rights.store(name)
    found.getOrElseUpdate(
      store,
      try Rights.find(store, conf, user).map(_.setUrl(store).build()).toRight(Rights.lacking(store))
      catch { case e: IOException => Left(s"${Rights.lacking(store)}: ${e.getMessage}") })
  }
}

private object Rights {
  /** How a session comes by what reads a store. */
  private val Schemes = Map(
    "s3" -> "fs.s3a.access.key and fs.s3a.secret.key, or those of its bucket",
    "abfss" -> "fs.azure.sas.fixed.token, or that of its account",
    "hdfs" -> "a delegation token, as Spark has them on a cluster with Kerberos",
    "gs" -> "a token, which Hadoop's configuration does not have")

  /** The bucket, container or namenode, with its scheme. */
  private def store(name: String): String = name.split("/", 4).take(3).mkString("/")

  private def scheme(store: String): String = store.takeWhile(_ != ':')

  private def lacking(store: String): String =
    s"${Settings.Rights.name} is user, and the session has no credentials of $store: it takes ${Schemes(scheme(store))}"

  private def find(store: String, conf: Configuration, user: UserGroupInformation): Option[StoreCredentials.Builder] = {
    val Array(scheme, authority) = store.split("://", 2)
    def secret(name: String): Option[String] = Option(conf.getPassword(name)).map(new String(_)).filter(_.nonEmpty)
    def token(text: String) = StoreCredentials.newBuilder().setToken(text)
    scheme match {
      case "s3" =>
        val own = s"fs.s3a.bucket.$authority"
        val prefix = if (secret(s"$own.access.key").isDefined) own else "fs.s3a" // never parts of both
        for (access <- secret(s"$prefix.access.key"); key <- secret(s"$prefix.secret.key"))
          yield StoreCredentials.newBuilder().setAccessKey(access).setSecretKey(key).setSessionToken(secret(s"$prefix.session.token").getOrElse(""))
      case "abfss" =>
        val account = authority.substring(authority.indexOf('@') + 1)
        secret(s"fs.azure.sas.fixed.token.$account").orElse(secret("fs.azure.sas.fixed.token")).map(token)
      case "hdfs" =>
        val tokens = user.getCredentials
        def at = Try(SecurityUtil.buildTokenService(NetUtils.createSocketAddr(authority, Port))).toOption // None: no host has the name
        val found = Option(tokens.getToken(new Text(s"ha-hdfs:$authority"))).orElse(at.flatMap(of => Option(tokens.getToken(of))))
        found.map(of => token(of.encodeToUrlString()))
      case _ => None
    }
  }

  /** Of a namenode whose name says none. */
  private val Port = 8020
}
