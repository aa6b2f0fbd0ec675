"""The receipt of a step that has ended can be added to, and never rewritten."""

from django.db import migrations

_KEEP = """
CREATE FUNCTION clusters_keep_receipt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state IN ('verified', 'restored', 'failed', 'skipped') AND NOT NEW.receipt @> OLD.receipt THEN
        RAISE EXCEPTION 'the receipt of rollout step % has ended: it can be added to, not changed', OLD.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER rollout_step_receipt_kept BEFORE UPDATE OF receipt ON clusters_rolloutstep
    FOR EACH ROW EXECUTE FUNCTION clusters_keep_receipt();
"""
_LET_GO = """
DROP TRIGGER rollout_step_receipt_kept ON clusters_rolloutstep;
DROP FUNCTION clusters_keep_receipt();
"""


class Migration(migrations.Migration):
    dependencies = [("clusters", "0015_pending_restart")]
    operations = [migrations.RunSQL(_KEEP, _LET_GO)]
